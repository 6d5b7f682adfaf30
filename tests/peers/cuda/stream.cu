// SPDX-License-Identifier: BSD-3-Clause
//
// Memory bandwidth as BabelStream's CUDA kernels take it: one double a thread in blocks of 1024, 4 blocks of each multiprocessor
// for the reduction; the clock of the host around a launch and the wait for it; the fastest of the repeats. "memory read" is its
// dot product, which reads two arrays and writes next to nothing. Bytes are those the loop names.
//
//     stream [MIB_OF_AN_ARRAY [REPEATS]]
#include "measure.cuh"

#include <cmath>

constexpr unsigned kThreads = 1024;
constexpr double kScale = 0.4, kA = 0.1, kB = 0.2, kC = 0.3;

#define EACH(i, count)                                                                                     \
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (count); i += (size_t)gridDim.x * blockDim.x)

__global__ void init(double *a, double *b, double *c, size_t n)
{
	EACH(i, n)
		a[i] = kA, b[i] = kB, c[i] = kC;
}
__global__ void copy(const double *a, double *c, size_t n) { EACH(i, n) c[i] = a[i]; }
__global__ void triad(double *a, const double *b, const double *c, size_t n) { EACH(i, n) a[i] = b[i] + kScale * c[i]; }
__global__ void dot(const double *a, const double *b, double *sums, size_t n)
{
	__shared__ double part[kThreads];
	double sum = 0;
	EACH(i, n)
		sum += a[i] * b[i];
	part[threadIdx.x] = sum;
	for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
	}
	if (threadIdx.x == 0)
		sums[blockIdx.x] = part[0];
}

template <typename Work> static void fastest(const char *what, double bytes, unsigned repeats, cudaStream_t stream, Work work)
{
	double least = INFINITY;
	for (unsigned n = 0; n < repeats; n++) {
		double begin = seconds_now();
		work();
		CU(cudaGetLastError());
		CU(cudaStreamSynchronize(stream));
		if (n) // the first warms up
			least = std::min(least, seconds_now() - begin);
	}
	report(what, bytes / least, "byte/s");
}

int main(int argc, char **argv)
{
	const size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024) << 20, n = bytes / sizeof(double);
	const unsigned repeats = argc > 2 ? std::atoi(argv[2]) : 100, blocks = (unsigned)((n + kThreads - 1) / kThreads);
	int units = 0, khz = 0, bits = 0;
	double *a, *b, *c, *sums, got[2], sum = 0;
	cudaStream_t s;
	CU(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0));
	CU(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	for (double **array : {&a, &b, &c})
		CU(cudaMalloc((void **)array, bytes));
	CU(cudaHostAlloc((void **)&sums, sizeof(double) * units * 4, cudaHostAllocDefault));
	init<<<blocks, kThreads, 0, s>>>(a, b, c, n);
	fastest("memory copy", 2.0 * bytes, repeats, s, [&] { copy<<<blocks, kThreads, 0, s>>>(a, c, n); });
	fastest("memory triad", 3.0 * bytes, repeats, s, [&] { triad<<<blocks, kThreads, 0, s>>>(a, b, c, n); });
	fastest("memory read", 2.0 * bytes, repeats, s, [&] { dot<<<units * 4, kThreads, 0, s>>>(a, b, sums, n); });
	CU(cudaMemcpy(&got[0], a + n - 1, sizeof(double), cudaMemcpyDefault));
	CU(cudaMemcpy(&got[1], c + n - 1, sizeof(double), cudaMemcpyDefault));
	for (int i = 0; i < units * 4; i++)
		sum += sums[i];
	const double wanted = kB + kScale * kA;
	if (got[1] != kA || std::fabs(got[0] - wanted) > 1e-15 || std::fabs(sum / (wanted * kB * (double)n) - 1) > 1e-8) {
		std::fprintf(stderr, "wrong: %.17g, %.17g, %.17g\n", got[0], got[1], sum);
		return 1;
	}
	// Two transfers a cycle of the memory's clock: what datasheets multiply.
	if (cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, 0) == cudaSuccess &&
	    cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0) == cudaSuccess && khz > 0)
		report("memory, nominal", 2e3 * khz * bits / 8, "byte/s");
	return 0;
}
