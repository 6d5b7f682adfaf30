/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices of the GPU backend whose driver or board is unlike others: fakes (tests/fakes) as the
 * environment sets them.
 */
#include "device/dev.h"
#include "lib/err.h"
#include "tests/unit/device/calls.h"
#include "tests/unit/device/gpu/with_fakes.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static struct dev_set set;

static void open_devices(const char *spec, const char *variable, const char *value)
{
	setenv(variable, value, 1);
	ok(dev_open(spec, DEV_CHECKED, &set));
}

static void close_devices(void)
{
	dev_close(&set);
	unsetenv("FAKE_BOARD");
	unsetenv("FAKE_FAIL");
}

static void bytes_survive(struct dev *d, void *memory)
{
	char there[100], back[100] = "";
	memset(there, 0x5c, sizeof(there));
	ok(dev_upload(d, memory, there, sizeof(there)));
	ok(dev_download(d, back, memory, sizeof(back)));
	expect(memcmp(there, back, sizeof(back)) == 0);
}

/* A runtime that aligns memory to 64 bytes is asked for more of it. */
static void memory_is_aligned(const char *spec)
{
	static const uint64_t sizes[] = {100, 4096, 100000};
	struct dev_ipc handle;
	open_devices(spec, "FAKE_BOARD", "offset=64");
	for (int kind = DEV_MEM_DEVICE; kind <= DEV_MEM_PAGEABLE; kind++)
		for (size_t i = 0; i < COUNT(sizes); i++) {
			void *memory = NULL;
			ok(dev_alloc(set.dev[0], (enum dev_mem)kind, sizes[i], &memory));
			expect((uintptr_t)memory % 256 == 0);
			if (kind != DEV_MEM_PAGEABLE)
				bytes_survive(set.dev[0], memory);
			if (kind == DEV_MEM_DEVICE)
				expect(dev_ipc_export(set.dev[0], memory, &handle) == -ENOTSUP);
			ok(dev_free(set.dev[0], memory));
		}
	close_devices();
}

static void memory_is_aligned_on_cuda(void) { memory_is_aligned("cuda"); }
static void memory_is_aligned_on_hip(void) { memory_is_aligned("hip"); }

/* Whatever the error: runtimes do not agree on it. */
static void an_optional_kernel_may_be_missing(void)
{
	static const char *const faults[] = {"cuModuleGetFunction.gpusig_mma_f16=500",
					     "cuModuleGetFunction.gpusig_mma_f16=1",
					     "cuModuleGetFunction.gpusig_mma_f16=999"};
	struct dev_kernel *k;
	for (size_t i = 0; i < COUNT(faults); i++) {
		open_devices("cuda", "FAKE_FAIL", faults[i]);
		expect_str(err_text(), "");
		expect(dev_kernel_find(set.dev[0], "mma_f16", &k) == -ENOENT);
		ok(dev_kernel_find(set.dev[0], "mma_bf16", &k));
		ok(dev_kernel_find(set.dev[0], "copy", &k));
		expect(dev_props(set.dev[0])->mma_types & 1u << DEV_BF16);
		expect(!(dev_props(set.dev[0])->mma_types & 1u << DEV_F16));
		close_devices();
	}
	setenv("FAKE_FAIL", "cuModuleGetFunction.gpusig_copy=1", 1);
	expect(dev_open("cuda", 0, &set) != 0);
	expect(strstr(err_text(), "cuModuleGetFunction: invalid argument") != NULL);
	unsetenv("FAKE_FAIL");
}

static const struct dev_telemetry *read_sample(struct dev *d, const char *name)
{
	static struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	size_t count = 0;
	ok(dev_telemetry_read(d, samples, &count));
	for (size_t i = 0; i < count; i++)
		if (strcmp(samples[i].name, name) == 0)
			return &samples[i];
	return NULL;
}

static void expect_unknown(const char *name)
{
	const struct dev_telemetry *sample = read_sample(set.dev[0], name);
	require(sample);
	expect(isnan(sample->number) && !sample->text[0] && strstr(sample->why, "whole board"));
}

/* The second device is one; the first one is a board of its own. */
static void a_slice_has_its_own_identity(void)
{
	static const char *const of_board[] = {"power",    "power_limit",  "energy",
					       "throttle", "thermal_time", "ecc_errors"};
	open_devices("cuda:1", "FAKE_BOARD", "1.mig=1");
	expect_str(read_sample(set.dev[0], "uuid")->text,
		   "MIG-51ae0000-0000-4000-8000-000000000002");
	expect_str(read_sample(set.dev[0], "mig")->text, "on");
	expect_str(read_sample(set.dev[0], "clock_reason")->text, "power cap");
	for (size_t i = 0; i < COUNT(of_board); i++)
		expect_unknown(of_board[i]);
	expect_str(dev_props(set.dev[0])->shares, "its board with other slices (MIG)");
	dev_close(&set);
	ok(dev_open("cuda:0", 0, &set));
	expect_str(read_sample(set.dev[0], "uuid")->text,
		   "GPU-0fae0000-0000-4000-8000-000000000001");
	expect_str(read_sample(set.dev[0], "throttle")->text, "none");
	expect_str(dev_props(set.dev[0])->shares, "");
	close_devices();
}

static void a_share_of_mps_is_told(void)
{
	static const char variable[] = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";
	open_devices("cuda", variable, "50");
	expect(strstr(dev_props(set.dev[0])->shares, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is 50"));
	close_devices();
	open_devices("cuda", variable, "100");
	expect_str(dev_props(set.dev[0])->shares, "");
	close_devices();
	unsetenv(variable);
	open_devices("cuda", "FAKE_BOARD", "mig=1,display=1");
	expect_str(dev_props(set.dev[0])->shares,
		   "its board with other slices (MIG), and its time with a display: the system "
		   "kills kernels that take seconds");
	close_devices();
}

static void a_daemon_of_mps_is_told(void)
{
	static const char variable[] = "CUDA_MPS_PIPE_DIRECTORY";
	char folder[] = "/tmp/gpusig-mpsXXXXXX", control[64], expected[160];
	require(mkdtemp(folder) != NULL);
	open_devices("cuda", variable, folder);
	expect_str(dev_props(set.dev[0])->shares, "");
	close_devices();
	snprintf(control, sizeof(control), "%s/control", folder);
	snprintf(expected, sizeof(expected),
		 "its units with the other processes of MPS, where its daemon runs: %s exists",
		 control);
	require(mkdir(control, 0700) == 0);
	open_devices("cuda", variable, folder);
	expect_str(dev_props(set.dev[0])->shares, expected);
	close_devices();
	rmdir(control);
	rmdir(folder);
}

/* ------------------------------------------------------------------ nodes */

static char nodes[] = "/tmp/gpusig-nodesXXXXXX";

static void write_node(int node, int processor)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/node%d", nodes, node);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/node%d/cpulist", nodes, node);
	FILE *file = fopen(path, "w");
	require(file);
	fprintf(file, "%d\n", processor);
	require(fclose(file) == 0);
}

static void alloc_pinned(struct dev *d, const char *fails)
{
	void *memory = NULL;
	setenv("FAKE_FAIL", "cuMemHostRegister_v2=1", 1);
	err_clear();
	const int status = dev_alloc(d, DEV_MEM_PINNED, 4096, &memory);
	unsetenv("FAKE_FAIL");
	expect((status != 0) == (fails != NULL));
	if (fails)
		expect(strstr(err_text(), fails) != NULL);
	ok(dev_free(d, memory));
}

/* The machine has two processors at least, and a node 0; node 500 is none of a machine. */
static void pinned_memory_lies_at_each_device(void)
{
	cpu_set_t before;
	int processors[2];
	unsigned count = 0;
	require(sched_getaffinity(0, sizeof(before), &before) == 0);
	for (size_t i = 0; i < CPU_SETSIZE && count < 2; i++)
		if (CPU_ISSET(i, &before))
			processors[count++] = (int)i;
	if (count < 2)
		skip("one processor");
	require(mkdtemp(nodes));
	setenv("GPUSIG_NUMA_TOPOLOGY", nodes, 1);
	write_node(500, processors[0]);
	write_node(0, processors[1]);
	open_devices("cuda:0,1", "FAKE_BOARD", "0.numa=500,1.numa=0");
	expect(!read_sample(set.dev[0], "pinned_memory_node"));
	expect_near(read_sample(set.dev[1], "pinned_memory_node")->number, 0, 0);
	alloc_pinned(set.dev[0], NULL);
	alloc_pinned(set.dev[1], "cuMemHostRegister_v2");
	close_devices();
	sched_setaffinity(0, sizeof(before), &before);
	open_devices("cuda:0,1", "FAKE_BOARD", "0.numa=0,1.numa=500");
	expect(strstr(read_sample(set.dev[1], "pinned_memory_node")->why, "NUMA node 500"));
	alloc_pinned(set.dev[1], NULL);
	close_devices();
	sched_setaffinity(0, sizeof(before), &before);
	unsetenv("GPUSIG_NUMA_TOPOLOGY");
}

static void remove_nodes(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", nodes);
	if (system(command))
		perror(command);
}

/* ------------------------------------------------------------------ links */

static void a_link_that_works_is_enabled(void)
{
	void *memory = NULL;
	open_devices("cuda:0,1", "FAKE_BOARD", "");
	ok(dev_peer_enable(set.dev[0], set.dev[1]));
	/* Tried once: it allocates nothing more. */
	setenv("FAKE_FAIL", "cuMemAlloc_v2=2", 1);
	ok(dev_peer_enable(set.dev[1], set.dev[0]));
	unsetenv("FAKE_FAIL");
	ok(dev_alloc(set.dev[0], DEV_MEM_DEVICE, 100, &memory));
	ok(dev_free(set.dev[0], memory));
	close_devices();
}

/* One that hangs is told, and nothing after it hangs: not even closing. */
static void a_link_that_hangs_is_told(void)
{
	void *memory;
	open_devices("cuda:0,1", "FAKE_BOARD", "peer_hangs=1");
	expect(dev_peer_enable(set.dev[0], set.dev[1]) == -EIO);
	expect(strstr(err_text(), "from cuda:0 to cuda:1 did not end within 2 s") != NULL);
	expect(strstr(err_text(), "IOMMU") != NULL);
	for (int i = 0; i < 2; i++) {
		expect(dev_alloc(set.dev[i], DEV_MEM_PINNED, 4096, &memory) == -EIO);
		expect(strstr(err_text(), "is lost: a copy of 4096 bytes") != NULL);
	}
	close_devices();
}

/* The fakes' rows are those of their architecture, and a board's settings those of its driver. */
static void nominal_rates_follow_from_what_the_driver_tells(void)
{
	const struct dev_nominal *n;
	open_devices("hip", "FAKE_BOARD", "");
	n = &dev_props(set.dev[0])->nominal;
	expect_near(n->gemm_flops[DEV_BF16], 1024 * 1.5e9 * dev_props(set.dev[0])->units, 1);
	expect_near(n->fma_flops_f64, 128 * 1.5e9 * dev_props(set.dev[0])->units, 1);
	expect_near(n->memory_bandwidth, 1.6e9 * 4096 / 8 * 2, 1);
	expect_str(n->unknown, "");
	close_devices();
	open_devices("cuda", "FAKE_BOARD", "memory_bits=3072");
	n = &dev_props(set.dev[0])->nominal;
	expect_near(n->memory_bandwidth, 2.619e9 * 3072 / 8 * 2, 1);
	expect(!(n->gemm_flops[DEV_BF16] > 0));
	expect_str(n->unknown, "flop rates: no row for sm_90 in gpu_nominal.c");
	close_devices();
	open_devices("cuda", "FAKE_BOARD", "mig=1");
	n = &dev_props(set.dev[0])->nominal;
	expect(!(n->memory_bandwidth > 0));
	close_devices();
}

/* On gfx942 the driver's clock is that of the controller; on gfx1100 its meaning is not
 * documented. */
static void a_memory_of_another_kind_has_another_rate(void)
{
	open_devices("hip", "FAKE_ARCH", "gfx942:sramecc+:xnack-");
	expect_near(dev_props(set.dev[0])->nominal.memory_bandwidth, 1.6e9 * 4096 / 8 * 4, 1);
	close_devices();
	open_devices("hip", "FAKE_ARCH", "gfx1100");
	expect(!(dev_props(set.dev[0])->nominal.memory_bandwidth > 0));
	expect(strstr(dev_props(set.dev[0])->nominal.unknown, "is not the data clock"));
	close_devices();
	unsetenv("FAKE_ARCH");
}

int main(int argc, char **argv)
{
	setenv("CUDA_MPS_PIPE_DIRECTORY", "/dev/null/none", 1); /* one may run here */
	if (start_with_fakes(argv)) {
		perror("exec");
		return 1;
	}
	alarm(TEST_HANGS_S);
	test(memory_is_aligned_on_cuda);
	test(memory_is_aligned_on_hip);
	test(an_optional_kernel_may_be_missing);
	test(a_slice_has_its_own_identity);
	test(a_share_of_mps_is_told);
	test(a_daemon_of_mps_is_told);
	test(pinned_memory_lies_at_each_device);
	test(nominal_rates_follow_from_what_the_driver_tells);
	test(a_memory_of_another_kind_has_another_rate);
	remove_nodes();
	test(a_link_that_works_is_enabled);
	test(a_link_that_hangs_is_told);
	return test_done();
}
