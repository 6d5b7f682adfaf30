/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The BLAS library of this machine: OpenBLAS, or BLIS where OpenBLAS cannot be loaded.
 *
 * OpenBLAS chooses a kernel set by the processor's model. On one that it does not know (a new one,
 * or one whose model a virtual machine hides) the choice may be slower by a factor of two. So the
 * set is chosen here, by vendor and instruction sets, and is the same in every process of a
 * machine; `text` names the one that OpenBLAS uses. BLIS chooses by itself.
 *
 * GPUSIG_BLAS=LIBRARY[:SET] overrides the choice: openblas, openblas:SkylakeX (a value of
 * OPENBLAS_CORETYPE), blis, blis:0 (a value of BLIS_ARCH_TYPE), or none.
 *
 * The library runs in one thread per call: the device cuts a GEMM into blocks itself (host_gemm.h).
 */
#ifndef GPUSIG_HOST_BLAS_H
#define GPUSIG_HOST_BLAS_H

/* The Fortran interface, column-major, which every library has. */
typedef void (*host_sgemm_fn)(const char *, const char *, const int *, const int *, const int *,
			      const float *, const float *, const int *, const float *, const int *,
			      const float *, float *, const int *);
typedef void (*host_dgemm_fn)(const char *, const char *, const int *, const int *, const int *,
			      const double *, const double *, const int *, const double *,
			      const int *, const double *, double *, const int *);

struct host_blas {
	char text[96]; /* library, version, kernel set */
	void *handle;  /* of dlopen() */
	host_sgemm_fn sgemm;
	host_dgemm_fn dgemm;
};

/* The widest instruction set of a processor that kernel sets exist for. AVX2 includes FMA, AVX512
 * includes DQ, BW and VL. For later ones OpenBLAS has no other GEMM of f32 and f64. */
enum host_isa { HOST_ISA_OTHER, HOST_ISA_AVX2, HOST_ISA_AVX512 };

/* OpenBLAS's kernel set for a processor; NULL: the library's own choice. `vendor` is CPUID's name,
 * such as AuthenticAMD, or "". */
const char *host_blas_set(const char *vendor, enum host_isa widest);

/* Find, choose and load; later calls return the result of the first. `calls`: how many threads may
 * call the library at once. -ENOENT: there is no usable library; -ENOMEM: a limit of the process
 * leaves no room for what so many threads need; err_text() says which. The library stays loaded
 * until the process ends. Any thread. */
int host_blas_open(unsigned calls, const struct host_blas **blas_p);

#endif
