// SPDX-License-Identifier: BSD-3-Clause
//
// Copy bandwidth as nvbandwidth measures it, and of one way more: within the device by a kernel. A spin kernel holds the stream
// while 16 copies of 512 MiB are enqueued behind one for warming up; events around them; the median of the samples; what arrived
// is compared. Copies by engine are cudaMemcpyAsync, those by kernel a striding loop of 16 bytes a thread, 12 in flight, one
// block of 512 a multiprocessor. Bytes are counted once; "both ways" is the sum of both streams' bytes over the longer time.
//
//     copies [MIB [COPIES [SAMPLES]]]
#include "measure.cuh"

#include <cstring>

constexpr unsigned kThreads = 512, kInFlight = 12;

__global__ void fill(uint4 *p, size_t count, unsigned seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
		p[i] = make_uint4(mixed(i, seed), mixed(i, seed + 1), mixed(i, seed + 2), mixed(i, seed + 3));
}

__global__ void differing(const uint4 *p, size_t count, unsigned seed, unsigned long long *wrong)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
		uint4 v = p[i];
		if (v.x != mixed(i, seed) || v.y != mixed(i, seed + 1) || v.z != mixed(i, seed + 2) || v.w != mixed(i, seed + 3))
			atomicAdd(wrong, 1ull);
	}
}

__global__ void stride_copy(uint4 *to, const uint4 *from, size_t count)
{
	const size_t threads = (size_t)gridDim.x * blockDim.x;
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	for (; i + (kInFlight - 1) * threads < count; i += kInFlight * threads) {
		uint4 v[kInFlight];
#pragma unroll
		for (unsigned j = 0; j < kInFlight; j++)
			v[j] = from[i + j * threads];
#pragma unroll
		for (unsigned j = 0; j < kInFlight; j++)
			to[i + j * threads] = v[j];
	}
	for (; i < count; i += threads)
		to[i] = from[i];
}

struct Way {
	cudaStream_t stream;
	char *to, *from;
	Stopwatch watch;
};

struct Copies {
	size_t bytes;
	unsigned copies, samples;
	int units;
	Gate gate;
	unsigned long long *wrong;

	void fill_with(char *p, unsigned seed)
	{
		fill<<<units * 4, 256>>>((uint4 *)p, bytes / 16, seed);
		CU(cudaGetLastError());
		CU(cudaDeviceSynchronize());
	}
	void enqueue(Way &w, bool by_kernel)
	{
		if (by_kernel)
			stride_copy<<<units, kThreads, 0, w.stream>>>((uint4 *)w.to, (const uint4 *)w.from, bytes / 16);
		else
			CU(cudaMemcpyAsync(w.to, w.from, bytes, cudaMemcpyDefault, w.stream));
		CU(cudaGetLastError());
	}
	void sample(std::vector<Way *> &ways, bool by_kernel)
	{
		gate.shut(ways[0]->stream);
		for (Way *w : ways)
			enqueue(*w, by_kernel);
		CU(cudaEventRecord(ways[0]->watch.from, ways[0]->stream));
		for (size_t i = 1; i < ways.size(); i++) {
			CU(cudaStreamWaitEvent(ways[i]->stream, ways[0]->watch.from, 0));
			CU(cudaEventRecord(ways[i]->watch.from, ways[i]->stream));
		}
		for (Way *w : ways) {
			for (unsigned n = 0; n < copies; n++)
				enqueue(*w, by_kernel);
			CU(cudaEventRecord(w->watch.to, w->stream));
		}
		gate.release();
		CU(cudaDeviceSynchronize());
	}
	void measure(const char *what, std::vector<Way *> ways, bool by_kernel)
	{
		std::vector<double> rates;
		for (size_t i = 0; i < ways.size(); i++)
			fill_with(ways[i]->from, 7 * (unsigned)i);
		for (unsigned n = 0; n < samples; n++) {
			double longest = 0;
			for (Way *w : ways)
				fill_with(w->to, 99);
			sample(ways, by_kernel);
			for (Way *w : ways)
				longest = std::max(longest, w->watch.seconds());
			rates.push_back((double)bytes * copies * (double)ways.size() / longest);
		}
		*wrong = 0;
		for (size_t i = 0; i < ways.size(); i++)
			differing<<<units * 4, 256>>>((const uint4 *)ways[i]->to, bytes / 16, 7 * (unsigned)i, wrong);
		CU(cudaDeviceSynchronize());
		if (*wrong) {
			std::fprintf(stderr, "%s: %llu of %zu pieces are wrong\n", what, *wrong, bytes / 16);
			std::exit(1);
		}
		report(what, median(rates), "byte/s");
	}
};

int main(int argc, char **argv)
{
	Copies c;
	int units = 0;
	char *host[2], *device[2];
	cudaFuncAttributes unused;
	c.bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 512) << 20;
	c.copies = argc > 2 ? std::atoi(argv[2]) : 16;
	c.samples = argc > 3 ? std::atoi(argv[3]) : 3;
	CU(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0));
	c.units = units;
	CU(cudaFuncGetAttributes(&unused, stride_copy));
	CU(cudaHostAlloc((void **)&c.wrong, sizeof(*c.wrong), cudaHostAllocPortable));
	for (int i = 0; i < 2; i++) {
		CU(cudaHostAlloc((void **)&host[i], c.bytes, cudaHostAllocPortable));
		CU(cudaMalloc((void **)&device[i], c.bytes));
	}
	Way up, down, local;
	for (Way *w : {&up, &down, &local})
		CU(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
	up.from = host[0], up.to = device[0];
	down.from = device[1], down.to = host[1];
	local.from = device[0], local.to = device[1];
	c.measure("copy up, engine", {&up}, false);
	c.measure("copy down, engine", {&down}, false);
	c.measure("copy local, engine", {&local}, false);
	c.measure("copy up and down at once, engine", {&up, &down}, false);
	c.measure("copy up, kernel", {&up}, true);
	c.measure("copy down, kernel", {&down}, true);
	c.measure("copy local, kernel", {&local}, true);
	return 0;
}
