/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The BLAS library of this machine and, of its kernel sets, the one that is fastest on this processor.
 *
 * Libraries choose a kernel set by the processor's name and may be wrong by a factor of two where they don't
 * know it (a new processor, a virtual machine that hides the name). So every set that this processor can
 * run is timed, each in a child process of its own because a library chooses once when it is loaded. That
 * takes about 0.2 s, is done once per process, and only while the process has one thread: a fork may copy
 * locks that other threads hold. With more threads the widest set is taken without timing it, and the
 * text says so.
 *
 * GPUSIG_BLAS=LIBRARY[:SET] overrides the choice: openblas, openblas:SkylakeX (a value of OPENBLAS_CORETYPE),
 * blis, blis:0 (a value of BLIS_ARCH_TYPE), or none.
 *
 * The library runs in one thread per call: blocks of a product are the device's business (host_gemm.h).
 */
#ifndef GPUSIG_HOST_BLAS_H
#define GPUSIG_HOST_BLAS_H

/* The Fortran interface, column-major, which every library has. */
typedef void (*host_sgemm_fn)(const char *, const char *, const int *, const int *, const int *, const float *,
			      const float *, const int *, const float *, const int *, const float *, float *,
			      const int *);
typedef void (*host_dgemm_fn)(const char *, const char *, const int *, const int *, const int *, const double *,
			      const double *, const int *, const double *, const int *, const double *, double *,
			      const int *);

struct host_blas {
	char text[96]; /* library, version, kernel set */
	host_sgemm_fn sgemm;
	host_dgemm_fn dgemm;
};

/* Find, choose and load; later calls return the first one's result. -ENOENT: there is none, and the text
 * says why. Stays loaded as long as the process. Any thread. */
int host_blas_open(const struct host_blas **blas_p);

#endif
