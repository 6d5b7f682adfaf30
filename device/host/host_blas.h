/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The BLAS library of this machine and, of its kernel sets, the one that is fastest on this
 * processor.
 *
 * Libraries choose a kernel set by the processor's name. On a processor they do not know (a new
 * one, or one whose name a virtual machine hides) the choice may be slower by a factor of two. So
 * every set that this processor can run is timed, each in its own child process, because a library
 * chooses once when it is loaded. That takes about 0.2 s and happens once per process, and only
 * while the process has one thread: a fork may copy locks that other threads hold. With more
 * threads the widest set is used without timing, and `text` says so.
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

/* Find, choose and load; later calls return the result of the first. `calls`: how many threads may
 * call the library at once. -ENOENT: there is no usable library; -ENOMEM: a limit of the process
 * leaves no room for what so many threads need; err_text() says which. The library stays loaded
 * until the process ends. Any thread. */
int host_blas_open(unsigned calls, const struct host_blas **blas_p);

#endif
