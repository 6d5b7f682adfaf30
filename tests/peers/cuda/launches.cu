// SPDX-License-Identifier: BSD-3-Clause
//
// Cost of starting work, as the vendor's samples and nvbench take it: an empty kernel, the host's
// monotonic clock around one launch and the wait for it, events around launches that were enqueued
// behind a gate, and the wait for an event on an idle stream. The context polls, as ours does.
//
//     launches [BATCHES]
#include "measure.cuh"

__global__ void empty() {}

constexpr unsigned kQueued = 256, kBatch = 32;

// In batches, whose means are the samples, as ours are; and the least of the single ones.
template <typename Work> static void host_timed(const char *what, unsigned batches, Work work)
{
	std::vector<double> means;
	double least = 1;
	char name[64];
	for (unsigned n = 0; n < batches; n++) {
		double sum = 0;
		for (unsigned i = 0; i < kBatch; i++) {
			double begin = seconds_now();
			work();
			double seconds = seconds_now() - begin;
			sum += seconds;
			least = std::min(least, seconds);
		}
		if (n >= 5) // the first warm up
			means.push_back(sum / kBatch);
	}
	std::snprintf(name, sizeof(name), "%s, least", what);
	report(name, *std::min_element(means.begin(), means.end()), "s");
	std::snprintf(name, sizeof(name), "%s, median", what);
	report(name, median(means), "s");
	std::snprintf(name, sizeof(name), "%s, least single", what);
	report(name, least, "s");
}

int main(int argc, char **argv)
{
	const unsigned batches = argc > 1 ? std::max(6, std::atoi(argv[1])) : 500;
	cudaStream_t stream;
	CU(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
	CU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	empty<<<1, 32, 0, stream>>>();
	CU(cudaStreamSynchronize(stream));
	host_timed("wait for nothing", batches, [&] { CU(cudaStreamSynchronize(stream)); });
	host_timed("launch and wait", batches, [&] {
		empty<<<1, 32, 0, stream>>>();
		CU(cudaStreamSynchronize(stream));
	});
	Stopwatch watch;
	host_timed("event and wait", batches, [&] {
		CU(cudaEventRecord(watch.to, stream));
		CU(cudaEventSynchronize(watch.to));
	});
	Gate gate;
	std::vector<double> each, calls;
	for (unsigned n = 0; n < 101; n++) {
		gate.shut(stream);
		CU(cudaEventRecord(watch.from, stream));
		double begin = seconds_now();
		for (unsigned i = 0; i < kQueued; i++)
			empty<<<1, 32, 0, stream>>>();
		double end = seconds_now();
		CU(cudaGetLastError());
		CU(cudaEventRecord(watch.to, stream));
		gate.release();
		each.push_back(watch.seconds() / kQueued);
		calls.push_back((end - begin) / kQueued);
	}
	report("launch, back to back", median(each), "s");
	report("launch, the host's call", median(calls), "s");
	return 0;
}
