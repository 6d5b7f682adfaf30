/* SPDX-License-Identifier: BSD-3-Clause
 *
 * To which memory GEMMs of the GPU backend add, on fake drivers (tests/fakes) whose links are those
 * that the environment sets. What is refused is not known from a result: additions that are not in
 * one piece are right as long as nobody else adds.
 */
#include "device/dev.h"
#include "lib/err.h"
#include "tests/unit/device/calls.h"
#include "tests/unit/device/gpu/with_fakes.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#define SIDE 16u

enum where { OWN, PEER, PINNED };

static struct dev_set set;

static void open_devices(const char *spec, const char *board)
{
	setenv("FAKE_BOARD", board, 1);
	ok(dev_open(spec, DEV_CHECKED, &set));
	ok(dev_peer_enable(set.dev[0], set.dev[1]));
}

static void close_devices(void)
{
	dev_close(&set);
	unsetenv("FAKE_BOARD");
}

/* Status of a GEMM of device `from` with C in that place; its operands are in the device's
 * memory. */
static int add_from(unsigned from, enum where where)
{
	struct dev *d = set.dev[from], *owner = where == PEER ? set.dev[!from] : d;
	struct dev_gemm g =
		PACKED_GEMM(SIDE, SIDE, SIDE, .type = DEV_F32, .tiled = true, .adds = true);
	const uint64_t bytes = sizeof(float) * SIDE * SIDE;
	struct dev_stream *s = NULL;
	void *a = NULL, *c = NULL;
	ok(dev_alloc(d, DEV_MEM_DEVICE, bytes, &a));
	ok(dev_alloc(owner, where == PINNED ? DEV_MEM_PINNED : DEV_MEM_DEVICE, bytes, &c));
	ok(dev_stream_open(d, dev_props(d)->priority_normal, &s));
	g.a = g.b = a;
	g.c = c;
	err_clear();
	const int status = dev_gemm(d, s, &g);
	ok(dev_stream_sync(d, s));
	dev_stream_close(d, s);
	ok(dev_free(d, a));
	ok(dev_free(owner, c));
	return status;
}

static void expect_refused(unsigned from, enum where where, const char *text)
{
	const int status = add_from(from, where);
	if (status != -ENOTSUP || !strstr(err_text(), text))
		printf("# device %u: %d, '%s'\n", from, status, err_text());
	expect(status == -ENOTSUP && strstr(err_text(), text));
}

static void cuda_adds_where_its_links_do(void)
{
	open_devices("cuda:0,1", "");
	for (unsigned from = 0; from < 2; from++) {
		ok(add_from(from, OWN));
		ok(add_from(from, PEER));
		ok(add_from(from, PINNED));
	}
	close_devices();
}

static void cuda_refuses_links_that_do_not_add(void)
{
	open_devices("cuda:0,1", "peer_atomics=0,host_atomics=0");
	for (unsigned from = 0; from < 2; from++) {
		ok(add_from(from, OWN));
		expect_refused(from, PEER, "the memory of that device");
		expect_refused(from, PINNED, "pinned memory");
	}
	close_devices();
	open_devices("cuda:0,1", "1.peer_atomics=0,0.host_atomics=0");
	ok(add_from(0, PEER));
	expect_refused(1, PEER, "the memory of that device");
	expect_refused(0, PINNED, "pinned memory");
	ok(add_from(1, PINNED));
	close_devices();
}

/* A device that is open twice adds to the memory of both. */
static void hip_adds_to_its_own_memory(void)
{
	struct dev_set twin;
	open_devices("hip:0,1", "");
	for (unsigned from = 0; from < 2; from++) {
		ok(add_from(from, OWN));
		expect_refused(from, PEER, "the memory of that device");
		expect_refused(from, PINNED, "pinned memory");
	}
	ok(dev_open("hip:0", DEV_CHECKED, &twin));
	ok(dev_peer_enable(set.dev[0], twin.dev[0]));
	struct dev *other = set.dev[1];
	set.dev[1] = twin.dev[0];
	ok(add_from(0, PEER));
	set.dev[1] = other;
	dev_close(&twin);
	close_devices();
}

/* As documented for cuDeviceGetP2PAttribute(). */
static void the_fake_checks_what_it_is_asked(void)
{
	enum { INVALID_VALUE = 1, INVALID_DEVICE = 101, NATIVE_ATOMIC = 3, BEYOND = 5 };
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*attribute)(int *, int, int, int) = NULL, value = 77;
	require(library);
	*(void **)&attribute = dlsym(library, "cuDeviceGetP2PAttribute");
	require(attribute);
	open_devices("cuda:0,1", "peer_atomics=0");
	expect(attribute(&value, NATIVE_ATOMIC, 0, 0) == INVALID_DEVICE);
	expect(attribute(&value, NATIVE_ATOMIC, 0, 99) == INVALID_DEVICE);
	expect(attribute(&value, BEYOND, 0, 1) == INVALID_VALUE);
	expect(attribute(NULL, NATIVE_ATOMIC, 0, 1) == INVALID_VALUE);
	expect(value == 77);
	expect(attribute(&value, NATIVE_ATOMIC, 0, 1) == 0 && value == 0);
	close_devices();
}

int main(int argc, char **argv)
{
	if (start_with_fakes(argv))
		return 1;
	alarm(TEST_HANGS_S);
	test(cuda_adds_where_its_links_do);
	test(cuda_refuses_links_that_do_not_add);
	test(hip_adds_to_its_own_memory);
	test(the_fake_checks_what_it_is_asked);
	return test_done();
}
