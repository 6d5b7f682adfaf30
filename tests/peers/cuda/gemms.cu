// SPDX-License-Identifier: BSD-3-Clause
//
// GEMMs by the best algorithm of cuBLASLt: every one its heuristics return for the shape, with 32 MiB of workspace, is
// timed by events on random data; the fastest is timed again, in bursts of 5 ms with pauses of 20 ms, as a device's power lowers
// the clock of longer ones, and that is the number. After the word "sustained": the same algorithm for two seconds without a
// pause, and the rate in the second of them. Row-major C = A B, as gemm/efficiency asks for it, B given transposed for f8. Sums in
// f32, of f64 in f64.
//
//     gemms TYPE MxNxK... [sustained MxNxK...]      f32 f64 tf32 f16 bf16 f8
#include "measure.cuh"

#include <cstring>
#include <string>
#include <unistd.h>

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define LT(call)                                                                                                  \
	do {                                                                                                      \
		cublasStatus_t lt_result = (call);                                                                \
		if (lt_result != CUBLAS_STATUS_SUCCESS) {                                                         \
			std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cublasLtGetStatusString(lt_result)); \
			std::exit(1);                                                                             \
		}                                                                                                 \
	} while (0)

constexpr size_t kWorkspace = 32u << 20;
constexpr double kTrySeconds = 0.01, kBurstSeconds = 0.005, kSustainedSeconds = 2;

struct Type {
	const char *name;
	cudaDataType_t in, out;
	cublasComputeType_t compute;
	size_t in_bytes, out_bytes;
};

static const Type types[] = {
	{"f32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 4, 4},
	{"f64", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 8, 8},
	{"tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 4, 4},
	{"f16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 2, 2},
	{"bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 2, 2},
	{"f8", CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1, 2},
};

template <typename T> __global__ void randomise(T *p, size_t count, unsigned seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
		p[i] = (T)((float)(int)mixed(i, seed) * 0x1p-31f); // -1 to 1
}

static void *random_matrix(const Type &t, size_t count, unsigned seed)
{
	void *p;
	CU(cudaMalloc(&p, count * t.in_bytes));
	switch (t.in) {
	case CUDA_R_32F: randomise<<<1024, 256>>>((float *)p, count, seed); break;
	case CUDA_R_64F: randomise<<<1024, 256>>>((double *)p, count, seed); break;
	case CUDA_R_16F: randomise<<<1024, 256>>>((__half *)p, count, seed); break;
	case CUDA_R_16BF: randomise<<<1024, 256>>>((__nv_bfloat16 *)p, count, seed); break;
	default: randomise<<<1024, 256>>>((__nv_fp8_e4m3 *)p, count, seed); break;
	}
	CU(cudaGetLastError());
	CU(cudaDeviceSynchronize());
	return p;
}

struct Gemm {
	const Type &type;
	cublasLtHandle_t lt;
	cudaStream_t stream;
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t first, second, c_layout;
	void *a, *b, *c, *workspace;
	Stopwatch watch;

	// Row-major C = A B is column-major C' = B' A'.
	Gemm(const Type &t, size_t m, size_t n, size_t k) : type(t)
	{
		const bool f64 = t.in == CUDA_R_64F, transposed = t.in == CUDA_R_8F_E4M3;
		const cublasOperation_t op = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
		LT(cublasLtCreate(&lt));
		LT(cublasLtMatmulDescCreate(&desc, t.compute, f64 ? CUDA_R_64F : CUDA_R_32F));
		LT(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof(op)));
		LT(cublasLtMatrixLayoutCreate(&first, t.in, transposed ? k : n, transposed ? n : k, transposed ? k : n));
		LT(cublasLtMatrixLayoutCreate(&second, t.in, k, m, k));
		LT(cublasLtMatrixLayoutCreate(&c_layout, t.out, n, m, n));
		CU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		a = random_matrix(t, m * k, 1);
		b = random_matrix(t, k * n, 2);
		CU(cudaMalloc(&c, m * n * t.out_bytes));
		CU(cudaMalloc(&workspace, kWorkspace));
	}
	~Gemm()
	{
		for (void *p : {a, b, c, workspace})
			cudaFree(p);
	}
	bool enqueue(const cublasLtMatmulHeuristicResult_t &algorithm)
	{
		const double one = 1, zero = 0;
		const float one_f = 1, zero_f = 0;
		const bool f64 = type.in == CUDA_R_64F;
		return cublasLtMatmul(lt, desc, f64 ? (const void *)&one : &one_f, b, first, a, second,
		                      f64 ? (const void *)&zero : &zero_f, c, c_layout, c, c_layout, &algorithm.algo, workspace,
		                      kWorkspace, stream) == CUBLAS_STATUS_SUCCESS;
	}
	// Seconds of one GEMM, of `times` in a row; infinite where the library can't run it after all.
	double time(const cublasLtMatmulHeuristicResult_t &algorithm, unsigned times)
	{
		CU(cudaEventRecord(watch.from, stream));
		for (unsigned i = 0; i < times; i++)
			if (!enqueue(algorithm))
				return 1e9;
		CU(cudaEventRecord(watch.to, stream));
		return watch.seconds() / times;
	}
	std::vector<cublasLtMatmulHeuristicResult_t> algorithms()
	{
		cublasLtMatmulPreference_t preference;
		std::vector<cublasLtMatmulHeuristicResult_t> found(1000);
		int count = 0;
		LT(cublasLtMatmulPreferenceCreate(&preference));
		LT(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
		                                        sizeof(kWorkspace)));
		LT(cublasLtMatmulAlgoGetHeuristic(lt, desc, first, second, c_layout, c_layout, preference, (int)found.size(),
		                                  found.data(), &count));
		LT(cublasLtMatmulPreferenceDestroy(preference));
		found.resize(count);
		return found;
	}
	double best(bool sustained, size_t *count_p)
	{
		const auto found = algorithms();
		const cublasLtMatmulHeuristicResult_t *fastest = nullptr;
		double least = 1e9;
		for (const auto &algorithm : found) {
			if (algorithm.state != CUBLAS_STATUS_SUCCESS || time(algorithm, 1) >= 1e9)
				continue;
			const double once = time(algorithm, 1);
			std::vector<double> seconds;
			for (int i = 0; i < 3; i++)
				seconds.push_back(time(algorithm, 1 + (unsigned)(kTrySeconds / 3 / once)));
			if (median(seconds) < least)
				least = median(seconds), fastest = &algorithm;
		}
		*count_p = found.size();
		if (!fastest)
			return 0;
		if (sustained) {
			const unsigned half = 1 + (unsigned)(kSustainedSeconds / 2 / least);
			time(*fastest, half);
			return time(*fastest, half);
		}
		std::vector<double> seconds;
		for (int i = 0; i < 15; i++) {
			usleep(20000);
			seconds.push_back(time(*fastest, 1 + (unsigned)(kBurstSeconds / least)));
		}
		return median(seconds);
	}
};

int main(int argc, char **argv)
{
	const Type *type = nullptr;
	for (const Type &t : types)
		if (argc > 2 && std::strcmp(argv[1], t.name) == 0)
			type = &t;
	if (!type) {
		std::fprintf(stderr, "usage: gemms f32|f64|tf32|f16|bf16|f8 MxNxK... [sustained MxNxK...]\n");
		return 2;
	}
	bool sustained = false;
	for (int i = 2; i < argc; i++) {
		if (std::strcmp(argv[i], "sustained") == 0) {
			sustained = true;
			continue;
		}
		size_t m = 0, n = 0, k = 0, count = 0;
		if (std::sscanf(argv[i], "%zux%zux%zu", &m, &n, &k) != 3 || !m || !n || !k) {
			std::fprintf(stderr, "gemms: '%s' is no MxNxK\n", argv[i]);
			return 2;
		}
		Gemm p(*type, m, n, k);
		const double seconds = p.best(sustained, &count);
		if (seconds <= 0) {
			std::fprintf(stderr, "gemms: %s %s: none of %zu algorithms works\n", argv[1], argv[i], count);
			return 1;
		}
		report((std::string(sustained ? "gemm sustained " : "gemm ") + argv[1] + " " + argv[i]).c_str(), 2e0 * m * n * k / seconds, "flop/s");
		std::fprintf(stderr, "%s %s: the best of %zu algorithms\n", argv[1], argv[i], count);
	}
	return 0;
}
