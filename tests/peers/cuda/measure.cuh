// SPDX-License-Identifier: BSD-3-Clause
//
// Functions of all peers: check of results, a gate that holds a stream while it is filled, times by
// events, the median of samples, random data, and one JSON line a number: {"what": NAME, "value": V, "unit": U}.
#ifndef GPUSIG_PEERS_MEASURE_CUH
#define GPUSIG_PEERS_MEASURE_CUH

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CU(call)                                                                                                        \
	do {                                                                                                            \
		cudaError_t cu_result = (call);                                                                         \
		if (cu_result != cudaSuccess) {                                                                         \
			std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(cu_result)); \
			std::exit(1);                                                                                   \
		}                                                                                                       \
	} while (0)

inline void report(const char *what, double value, const char *unit)
{
	std::printf("{\"what\": \"%s\", \"value\": %.9g, \"unit\": \"%s\"}\n", what, value, unit);
}

inline double median(std::vector<double> samples)
{
	std::sort(samples.begin(), samples.end());
	size_t half = samples.size() / 2;
	return samples.size() % 2 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

inline double seconds_now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Five seconds at the clock the device names, then it gives up.
__global__ void gate_kernel(const volatile int *open, long long most_cycles)
{
	const long long begin = clock64();
	while (!*open && clock64() - begin < most_cycles)
		;
}

struct Gate {
	int *open = nullptr;
	long long most_cycles = 0;

	Gate()
	{
		cudaFuncAttributes unused;
		int khz = 0;
		CU(cudaHostAlloc((void **)&open, sizeof(*open), cudaHostAllocPortable));
		CU(cudaFuncGetAttributes(&unused, gate_kernel)); // loaded now: loading waits for what runs
		CU(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
		most_cycles = 5000ll * khz;
	}
	~Gate() { cudaFreeHost(open); }
	void shut(cudaStream_t stream)
	{
		*(volatile int *)open = 0;
		gate_kernel<<<1, 1, 0, stream>>>(open, most_cycles);
		CU(cudaGetLastError());
	}
	void release() { *(volatile int *)open = 1; }
};

struct Stopwatch {
	cudaEvent_t from, to;

	Stopwatch()
	{
		CU(cudaEventCreate(&from));
		CU(cudaEventCreate(&to));
	}
	~Stopwatch()
	{
		cudaEventDestroy(from);
		cudaEventDestroy(to);
	}
	double seconds()
	{
		float ms = 0;
		CU(cudaEventSynchronize(to));
		CU(cudaEventElapsedTime(&ms, from, to));
		return 1e-3 * ms;
	}
};

// Words that look random and depend on nothing but their place and the seed.
__host__ __device__ inline unsigned mixed(unsigned long long at, unsigned seed)
{
	unsigned long long z = (at + 1) * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (unsigned)(z ^ (z >> 31));
}

#endif
