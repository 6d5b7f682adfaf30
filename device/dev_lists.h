/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The capabilities and the element types of device/dev.h. Code with one item for each expands these
 * lists.
 */
#ifndef GPUSIG_DEV_LISTS_H
#define GPUSIG_DEV_LISTS_H

#include <stdbool.h>
#include <stdint.h>

/* CAP(capability, its name in records and messages), in order of bits. docs/ADD-A-BACKEND.md says
 * what a new one needs.
 *
 *   DEV_CAP_GEMM           dev_gemm() through the platform's BLAS
 *   DEV_CAP_COPY_ENGINE    dev_copy() progresses while every unit is busy
 *   DEV_CAP_PRIORITY       more than one stream priority exists
 *   DEV_CAP_WAIT_VALUE     dev_wait_value(), dev_write_value()
 *   DEV_CAP_OCCUPANCY      shared memory per block limits resident blocks
 *   DEV_CAP_PEER           dev_peer_enable() between devices of this backend
 *   DEV_CAP_CLOCK_RATE     dev_clock_rate()
 *   DEV_CAP_HOST_ACCESS    the host may access DEVICE memory directly
 *   DEV_CAP_VIRTUAL_TIME   dev_clock_ns() is simulated: no result is a measurement
 *   DEV_CAP_PAGEABLE       DEV_MEM_PAGEABLE
 *   DEV_CAP_GRAPH          dev_graph_*()
 *   DEV_CAP_GEMM_TILED     dev_gemm.tiled: blocks that can be shaped and count what they finish
 *   DEV_CAP_COLLECTIVES    dev_comm_find(): the vendor's collectives
 *   DEV_CAP_IPC            dev_ipc_export(), dev_ipc_import()
 *   DEV_CAP_VALUE_IN_QUEUE dev_wait_value() and dev_write_value() take no slot of a unit
 *   DEV_CAP_CARVEOUT       dev_launch.prefer_cache: a unit divides memory between L1 and shared
 *                           memory
 *   DEV_CAP_TIME_ONLY      memory keeps no results: operations take their time and move nothing
 *   DEV_CAP_MEMORY_ADDS    dev_copy_add(), and GEMMs add at the cost of a write
 *   DEV_CAP_TRACKER        dev_tracker_*(), dev_gemm.first_row
 *   DEV_CAP_MEMORY_CONTROL dev_memory_control(), dev_memory_bytes(), dev_stream_class()
 *   DEV_CAP_UNIT_MASK      dev_stream_units()
 *   DEV_CAP_COPY_BATCH     dev_copy_batch()
 *   DEV_CAP_GEMM_GROUPED   dev_gemm.groups; a library of its own may be opened for it
 *   DEV_CAP_FILE_READ      dev_file_open(), dev_file_read(): the device reads files */
#define DEV_CAPS(CAP)                                                                              \
	CAP(DEV_CAP_GEMM, "gemm")                                                                  \
	CAP(DEV_CAP_COPY_ENGINE, "copy_engine")                                                    \
	CAP(DEV_CAP_PRIORITY, "priority")                                                          \
	CAP(DEV_CAP_WAIT_VALUE, "wait_value")                                                      \
	CAP(DEV_CAP_OCCUPANCY, "occupancy")                                                        \
	CAP(DEV_CAP_PEER, "peer")                                                                  \
	CAP(DEV_CAP_CLOCK_RATE, "clock_rate")                                                      \
	CAP(DEV_CAP_HOST_ACCESS, "host_access")                                                    \
	CAP(DEV_CAP_VIRTUAL_TIME, "virtual_time")                                                  \
	CAP(DEV_CAP_PAGEABLE, "pageable")                                                          \
	CAP(DEV_CAP_GRAPH, "graph")                                                                \
	CAP(DEV_CAP_GEMM_TILED, "gemm_tiled")                                                      \
	CAP(DEV_CAP_COLLECTIVES, "collectives")                                                    \
	CAP(DEV_CAP_IPC, "ipc")                                                                    \
	CAP(DEV_CAP_VALUE_IN_QUEUE, "value_in_queue")                                              \
	CAP(DEV_CAP_CARVEOUT, "carveout")                                                          \
	CAP(DEV_CAP_TIME_ONLY, "time_only")                                                        \
	CAP(DEV_CAP_MEMORY_ADDS, "memory_adds")                                                    \
	CAP(DEV_CAP_TRACKER, "tracker")                                                            \
	CAP(DEV_CAP_MEMORY_CONTROL, "memory_control")                                              \
	CAP(DEV_CAP_UNIT_MASK, "unit_mask")                                                        \
	CAP(DEV_CAP_COPY_BATCH, "copy_batch")                                                      \
	CAP(DEV_CAP_GEMM_GROUPED, "gemm_grouped")                                                  \
	CAP(DEV_CAP_FILE_READ, "file_read")

#define DEV_CAP_BIT(capability, name) capability##_BIT,
enum dev_cap_bit { DEV_CAPS(DEV_CAP_BIT) DEV_CAP_COUNT };
#undef DEV_CAP_BIT
#define DEV_CAP_MASK(capability, name) capability = 1u << capability##_BIT,
enum dev_cap { DEV_CAPS(DEV_CAP_MASK) };
#undef DEV_CAP_MASK
#define DEV_CAP_ALL ((UINT32_C(1) << DEV_CAP_COUNT) - 1)
extern const char *const dev_cap_names[DEV_CAP_COUNT];

/* Element types of GEMM: how A and B are stored, and how units multiply. Sums are f32; for f64 they
 * are f64, for i8 i32.
 *
 * TYPE(type, name, flop or op, bits, bits of exponent, bits of mantissa, has infinities, type of C,
 * multiple, elements that share a scale, type of scales). If `multiple` is not 1, all sizes must be
 * multiples of it and B must be transposed; otherwise -EINVAL. A type of 32 bits with fewer of them
 * in use is stored as f32. f8 is e4m3 as defined by OCP, without -0, which some devices read as
 * NaN. A type without exponent is an integer, with a sign, in two's complement; what it computes
 * are operations, not flops. Two elements of 4 bits, e2m1, all codes of which are numbers, are a
 * byte, the first one in its lower half. mxf8 and mxf4 are those of OCP's Microscaling Formats 1.0,
 * nvf4 is NVIDIA's, whose scale of the whole matrix is a factor of alpha. docs/ADD-A-BACKEND.md
 * says what a new type needs. */
#define DEV_TYPE_LIST(TYPE)                                                                        \
	TYPE(DEV_F32, f32, flop, 32, 8, 23, true, DEV_F32, 1, 0, DEV_SCALE_NONE)                   \
	TYPE(DEV_F64, f64, flop, 64, 11, 52, true, DEV_F64, 1, 0, DEV_SCALE_NONE)                  \
	TYPE(DEV_TF32, tf32, flop, 32, 8, 10, true, DEV_F32, 1, 0, DEV_SCALE_NONE)                 \
	TYPE(DEV_F16, f16, flop, 16, 5, 10, true, DEV_F16, 1, 0, DEV_SCALE_NONE)                   \
	TYPE(DEV_BF16, bf16, flop, 16, 8, 7, true, DEV_BF16, 1, 0, DEV_SCALE_NONE)                 \
	TYPE(DEV_F8, f8, flop, 8, 4, 3, false, DEV_BF16, 16, 0, DEV_SCALE_NONE)                    \
	TYPE(DEV_I8, i8, op, 8, 0, 7, false, DEV_I32, 4, 0, DEV_SCALE_NONE)                        \
	TYPE(DEV_MXF8, mxf8, flop, 8, 4, 3, false, DEV_BF16, 32, 32, DEV_SCALE_E8M0)               \
	TYPE(DEV_MXF4, mxf4, flop, 4, 2, 1, false, DEV_BF16, 32, 32, DEV_SCALE_E8M0)               \
	TYPE(DEV_NVF4, nvf4, flop, 4, 2, 1, false, DEV_BF16, 32, 16, DEV_SCALE_E4M3)

#define DEV_TYPE_NUMBER(type, name, ...) type,
/* Those of C alone, of which there is no GEMM, follow. */
enum dev_type { DEV_TYPE_LIST(DEV_TYPE_NUMBER) DEV_TYPES, DEV_I32 = DEV_TYPES, DEV_ALL_TYPES };
#undef DEV_TYPE_NUMBER

/* A byte each: 2^(code - 127), and e4m3 without a sign. */
enum dev_scale { DEV_SCALE_NONE, DEV_SCALE_E8M0, DEV_SCALE_E4M3 };

struct dev_type_traits {
	const char *name;
	uint32_t bits, bytes; /* of an element; 0 bytes: less than one */
	int exponent_bits, mantissa_bits;
	bool infinite;        /* has infinities; otherwise only the largest code is NaN, if any */
	enum dev_type result; /* of C */
	uint32_t multiple;
	uint32_t block; /* elements along k that share a scale; 0: there are none */
	enum dev_scale scale;
};
extern const struct dev_type_traits dev_types[DEV_ALL_TYPES];
extern const char *const dev_type_names[DEV_TYPES + 1]; /* NULL past the last */

/* Bytes of an element of A and B, which must have a whole one, and of C. */
uint32_t dev_type_bytes(enum dev_type type);
uint32_t dev_type_result_bytes(enum dev_type type);
/* Bytes of elements without gaps, which fill their bytes; scales do not count. */
uint64_t dev_type_array_bytes(enum dev_type type, uint64_t elements);
bool dev_type_is_integer(enum dev_type type);
/* A float without scales, so that programs which add C to C, or take elements of A and B apart,
 * need know no other kind. */
bool dev_type_is_plain(enum dev_type type);

#endif
