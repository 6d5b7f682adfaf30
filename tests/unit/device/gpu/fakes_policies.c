/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Policies of communicators on fakes of NCCL releases (tests/fakes): which release has which, what
 * is said of one that lacks them, failures half-way; and that the fake refuses what the library
 * does.
 */
#include "device/gpu/nccl_abi.h"
#include "tests/unit/device/calls.h"
#include "tests/unit/device/gpu/with_fakes.h"

#include <dlfcn.h>

/* Offsets and size in nccl.h of 2.27, to which later releases append. */
_Static_assert(sizeof(struct nccl_abi_config) == 72, "size");
_Static_assert(offsetof(struct nccl_abi_config, magic) == 8, "magic");
_Static_assert(offsetof(struct nccl_abi_config, version) == 12, "version");
_Static_assert(offsetof(struct nccl_abi_config, blocking) == 16, "blocking");
_Static_assert(offsetof(struct nccl_abi_config, net_name) == 32, "netName");
_Static_assert(offsetof(struct nccl_abi_config, split_share) == 40, "splitShare");
_Static_assert(offsetof(struct nccl_abi_config, comm_name) == 48, "commName");
_Static_assert(offsetof(struct nccl_abi_config, cta_policy) == 60, "CTAPolicy");

enum { DEVICES = 2, COUNT = 1000 };

static struct dev_set set;

static void open_set(const char *spec, const char *version)
{
	setenv("FAKE_NCCL_VERSION", version, 1);
	ok(dev_open(spec, DEV_CAP_COLLECTIVES | DEV_CHECKED, &set));
}

static void close_set(void)
{
	dev_close(&set);
	unsetenv("FAKE_NCCL_VERSION");
	unsetenv("FAKE_FAIL");
}

static void expect_refused(enum dev_comm_policy policy, const char *words)
{
	struct dev_comm *comm = NULL;
	err_clear();
	expect(dev_comm_find(&set, policy, &comm) == -ENOTSUP && !comm);
	expect_str(err_text(), words);
}

static void expect_there(enum dev_comm_policy policy, const char *library)
{
	struct dev_comm *comm = NULL;
	ok(dev_comm_find(&set, policy, &comm));
	expect(comm->policy == policy);
	expect_str(comm->library, library);
}

static void an_older_release_has_no_policy(void)
{
	open_set("cuda:0,1", "21903");
	expect_there(DEV_COMM_DEFAULT, "NCCL 2.19.3");
	expect_refused(DEV_COMM_EFFICIENCY,
		       "NCCL 2.19.3 has no CTA policy 'efficiency': it is there from 2.27 on");
	expect_refused(DEV_COMM_ZERO_CTA,
		       "NCCL 2.19.3 has no CTA policy 'zero-CTA': it is there from 2.28 on");
	close_set();
}

static void policies_come_with_releases(void)
{
	open_set("hip:0,1", "22707");
	expect_there(DEV_COMM_EFFICIENCY, "RCCL 2.27.7");
	expect_refused(DEV_COMM_ZERO_CTA,
		       "RCCL 2.27.7 has no CTA policy 'zero-CTA': it is there from 2.28 on");
	close_set();
	for (int i = 0; i < 3; i++) {
		static const char *const codes[] = {"22803", "22907", "23007"},
					 *const names[] = {"NCCL 2.28.3", "NCCL 2.29.7",
							   "NCCL 2.30.7"};
		open_set("cuda:0,1", codes[i]);
		for (int policy = 0; policy < DEV_COMM_POLICIES; policy++)
			expect_there((enum dev_comm_policy)policy, names[i]);
		close_set();
	}
}

/* The library gives every communicator this policy. */
static void a_policy_of_the_environment_is_named(void)
{
	open_set("cuda:0,1", "22809");
	setenv("NCCL_CTA_POLICY", "1", 1);
	expect_refused(DEV_COMM_ZERO_CTA,
		       "NCCL 2.28.9: NCCL_CTA_POLICY=1 is the policy of every communicator");
	unsetenv("NCCL_CTA_POLICY");
	close_set();
}

static void a_rank_that_fails_ends_the_others(void)
{
	static const char *const failing[] = {"ncclCommInitRankConfig:2=1", "ncclGroupEnd:1=3",
					      "ncclCommInitRankFunc:1=3", "ncclGetUniqueId:1=2"},
				 *const words[] = {"ncclCommInitRankConfig: unhandled cuda error",
						   "ncclGroupEnd: internal error",
						   "ncclGroupEnd: internal error",
						   "ncclGetUniqueId: unhandled system error"};
	for (size_t i = 0; i < 4; i++) {
		open_set("cuda:0,1", "22809");
		setenv("FAKE_FAIL", failing[i], 1);
		expect_refused(DEV_COMM_ZERO_CTA, words[i]);
		unsetenv("FAKE_FAIL");
		expect_there(DEV_COMM_DEFAULT, "NCCL 2.28.9");
		close_set();
	}
}

static void expect_no_memory(enum dev_comm_policy policy, const char *failing, const char *words)
{
	struct dev_comm *comm;
	void *memory[DEV_MAX];
	open_set("cuda:0,1", "22809");
	ok(dev_comm_find(&set, policy, &comm));
	setenv("FAKE_FAIL", failing, 1);
	err_clear();
	expect(dev_comm_alloc(comm, 1 << 20, memory) == -ENOTSUP);
	expect_str(err_text(), words);
	unsetenv("FAKE_FAIL");
	ok(dev_comm_alloc(comm, 1 << 20, memory));
	close_set();
}

static void memory_that_cannot_be_registered_is_given_back(void)
{
	expect_no_memory(DEV_COMM_ZERO_CTA, "ncclMemAlloc:2=1",
			 "ncclMemAlloc: unhandled cuda error");
	expect_no_memory(DEV_COMM_ZERO_CTA, "ncclCommWindowRegister:2=1",
			 "ncclCommWindowRegister: unhandled cuda error");
	expect_no_memory(DEV_COMM_EFFICIENCY, "ncclCommRegister:2=1",
			 "ncclCommRegister: unhandled cuda error");
}

/* ------------------------------------------------------------------ the fake's own strictness */

static void *function_of(const char *name)
{
	void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
	void *function = library ? dlsym(library, name) : NULL;
	require(function != NULL);
	dlclose(library);
	return function;
}

static nccl_config sound_config(void)
{
	return (nccl_config){.size = sizeof(nccl_config),
			     .magic = NCCL_ABI_CONFIG_MAGIC,
			     .version = NCCL_ABI_CONFIG_VERSION,
			     .blocking = INT_MIN,
			     .cluster_size = INT_MIN,
			     .min_ctas = INT_MIN,
			     .max_ctas = INT_MIN,
			     .split_share = INT_MIN,
			     .collnet_enable = INT_MIN,
			     .cta_policy = NCCL_ABI_CTA_POLICY_ZERO};
}

static nccl_status open_alone(nccl_config config, struct ncclComm **comm_p)
{
	nccl_get_id_fn *get_id;
	nccl_comm_init_rank_config_fn *init;
	nccl_id id;
	*(void **)&get_id = function_of("ncclGetUniqueId");
	*(void **)&init = function_of("ncclCommInitRankConfig");
	require(get_id(&id) == NCCL_ABI_SUCCESS);
	return init(comm_p, 1, id, 0, &config);
}

static void expect_config(nccl_config config, nccl_status wanted)
{
	struct ncclComm *comm = NULL;
	nccl_comm_end_fn *destroy;
	*(void **)&destroy = function_of("ncclCommDestroy");
	expect(open_alone(config, &comm) == wanted);
	if (comm)
		destroy(comm);
}

static void a_config_that_is_not_initialised_is_refused(void)
{
	nccl_config config = sound_config();
	open_set("cuda:0,1", "22809");
	expect_there(DEV_COMM_DEFAULT, "NCCL 2.28.9"); /* which opens the library */
	expect_config(config, NCCL_ABI_SUCCESS);
	config.magic++;
	expect_config(config, NCCL_ABI_INVALID_ARGUMENT);
	config = sound_config();
	config.size = 8; /* so that no magic number is read */
	expect_config(config, NCCL_ABI_INVALID_ARGUMENT);
	config = sound_config();
	config.cta_policy = 3;
	expect_config(config, NCCL_ABI_INVALID_ARGUMENT);
	config.version = 22602; /* of a caller that has no such field */
	expect_config(config, NCCL_ABI_SUCCESS);
	config = sound_config();
	setenv("FAKE_NCCL_VERSION", "22707", 1);
	expect_config(config, NCCL_ABI_INVALID_ARGUMENT);
	setenv("FAKE_NCCL_VERSION", "21903", 1);
	expect_config(config, NCCL_ABI_SUCCESS); /* ignored */
	close_set();
}

static void a_window_needs_the_librarys_memory(void)
{
	struct ncclComm *comm = NULL;
	nccl_window window = NULL;
	nccl_window_register_fn *window_register;
	nccl_mem_alloc_fn *mem_alloc;
	nccl_mem_free_fn *mem_free;
	nccl_comm_end_fn *destroy;
	void *ordinary, *shared;
	open_set("cuda:0,1", "22809");
	expect_there(DEV_COMM_DEFAULT, "NCCL 2.28.9");
	*(void **)&window_register = function_of("ncclCommWindowRegister");
	*(void **)&mem_alloc = function_of("ncclMemAlloc");
	*(void **)&mem_free = function_of("ncclMemFree");
	*(void **)&destroy = function_of("ncclCommDestroy");
	ok(dev_alloc(set.dev[0], DEV_MEM_DEVICE, 8192, &ordinary));
	expect(open_alone(sound_config(), &comm) == NCCL_ABI_SUCCESS);
	expect(mem_alloc(&shared, 8192) == NCCL_ABI_SUCCESS);
	expect(window_register(comm, ordinary, 8192, &window, 1) == 1 && !window);
	expect(window_register(comm, shared, 8193, &window, 1) == 1);
	expect(window_register(comm, (char *)shared + 64, 64, &window, 1) ==
	       NCCL_ABI_INVALID_ARGUMENT);
	expect(window_register(comm, shared, 8192, &window, 64) == NCCL_ABI_INVALID_ARGUMENT);
	expect(destroy(comm) == NCCL_ABI_SUCCESS);
	expect(mem_free(shared) == NCCL_ABI_SUCCESS);
	close_set();
}

int main(int argc, char **argv)
{
	if (start_with_fakes(argv))
		return 1;
	alarm(TEST_HANGS_S);
	test(an_older_release_has_no_policy);
	test(policies_come_with_releases);
	test(a_policy_of_the_environment_is_named);
	test(a_rank_that_fails_ends_the_others);
	test(memory_that_cannot_be_registered_is_given_back);
	test(a_config_that_is_not_initialised_is_refused);
	test(a_window_needs_the_librarys_memory);
	return test_done();
}
