/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of ROCm SMI's ABI that we use. tests/abi/rocm_smi.c compares it with rocm_smi.h.
 *
 * ROCm 6 changed the list of frequencies without a new name: one more entry, and a flag in front.
 * Both layouts are below; device/gpu/hip/rocm_smi_list.h tells them apart by their content.
 */
#ifndef GPUSIG_ROCM_SMI_ABI_H
#define GPUSIG_ROCM_SMI_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned rsmi_abi_status;
enum {
	RSMI_ABI_SUCCESS = 0,
	RSMI_ABI_NOT_SUPPORTED = 2,
	RSMI_ABI_NOT_YET_IMPLEMENTED = 9,
	RSMI_ABI_INSUFFICIENT_SIZE = 11
};
enum { RSMI_ABI_CLOCK_SYSTEM = 0, RSMI_ABI_CLOCK_MEMORY = 4 };
enum { RSMI_ABI_TEMPERATURE_CURRENT = 0, RSMI_ABI_EDGE = 0, RSMI_ABI_JUNCTION = 1 };
enum { RSMI_ABI_BLOCK_UMC = 1 };
enum { RSMI_ABI_DRIVER = 0 };
enum { RSMI_ABI_LINK_PCIE = 1, RSMI_ABI_LINK_XGMI = 2 };
enum { RSMI_ABI_PAGE_RESERVED = 0, RSMI_ABI_PAGE_PENDING = 1, RSMI_ABI_PAGE_UNRESERVABLE = 2 };

#define RSMI_ABI_OLD_FREQUENCIES 32
#define RSMI_ABI_NEW_FREQUENCIES 33

struct rsmi_old_frequencies {
	uint32_t count, current;
	uint64_t hz[RSMI_ABI_OLD_FREQUENCIES];
};

struct rsmi_new_frequencies {
	bool sleeps;
	uint32_t count, current;
	uint64_t hz[RSMI_ABI_NEW_FREQUENCIES];
};

struct rsmi_old_links {
	struct rsmi_old_frequencies rates; /* transfers per second and lane */
	uint32_t lanes[RSMI_ABI_OLD_FREQUENCIES];
};

struct rsmi_new_links {
	struct rsmi_new_frequencies rates;
	uint32_t lanes[RSMI_ABI_NEW_FREQUENCIES];
};

struct rsmi_errors {
	uint64_t corrected, uncorrected;
};

struct rsmi_page {
	uint64_t address, bytes;
	unsigned status;
};

/* tests/abi defines these as the library's own types, so that it can compare whole prototypes. */
#ifndef RSMI_ABI_TYPES
typedef union {
	struct rsmi_old_frequencies old;
	struct rsmi_new_frequencies new;
} rsmi_abi_frequencies;
typedef union {
	struct rsmi_old_links old;
	struct rsmi_new_links new;
} rsmi_abi_links;
typedef struct rsmi_errors rsmi_abi_errors;
typedef struct rsmi_page rsmi_abi_page;
#endif

typedef rsmi_abi_status rsmi_abi_init_fn(uint64_t);
typedef rsmi_abi_status rsmi_abi_status_string_fn(rsmi_abi_status, const char **);
typedef rsmi_abi_status rsmi_abi_count_fn(uint32_t *);
typedef rsmi_abi_status rsmi_abi_number_fn(uint32_t,
					   uint64_t *); /* PCI id, unique id or mask of a device */
typedef rsmi_abi_status rsmi_abi_power_fn(uint32_t, uint64_t *,
					  unsigned *); /* microwatts, and how they were measured */
/* a count, its unit in millionths of a joule, and when it was taken */
typedef rsmi_abi_status rsmi_abi_energy_fn(uint32_t, uint64_t *, float *, uint64_t *);
typedef rsmi_abi_status rsmi_abi_sensor_fn(uint32_t, uint32_t, uint64_t *);
typedef rsmi_abi_status rsmi_abi_temperature_fn(uint32_t, uint32_t, unsigned,
						int64_t *); /* thousandths of a degree */
typedef rsmi_abi_status rsmi_abi_clocks_fn(uint32_t, unsigned, rsmi_abi_frequencies *);
typedef rsmi_abi_status rsmi_abi_links_fn(uint32_t, rsmi_abi_links *);
typedef rsmi_abi_status
rsmi_abi_errors_fn(uint32_t, uint64_t, rsmi_abi_errors *); /* a block's enumeration has 64 bits */
typedef rsmi_abi_status rsmi_abi_text_fn(uint32_t, char *, uint32_t);
typedef rsmi_abi_status rsmi_abi_version_fn(unsigned, char *, uint32_t);

typedef rsmi_abi_status rsmi_abi_link_type_fn(uint32_t, uint32_t, uint64_t *, unsigned *);
typedef rsmi_abi_status rsmi_abi_link_rates_fn(uint32_t, uint32_t, uint64_t *,
					       uint64_t *); /* least and most, in MB/s */
typedef rsmi_abi_status rsmi_abi_accessible_fn(uint32_t, uint32_t, bool *);
typedef rsmi_abi_status rsmi_abi_pages_fn(uint32_t, uint32_t *, rsmi_abi_page *);

#endif
