/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Models of the simulator: what the parser accepts, and the messages about what it rejects.
 */
#include "device/sim/model/model.h"
#include "device/sim/model/reading.h"
#include "tests/unit/device/sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static void good_models(void)
{
	struct sim_model m;
	ok(sim_model_load(NULL, &m));
	expect_str(m.name, "default");
	expect(m.jitter_sigma > 0);
	ok(sim_model_load("quiet", &m));
	expect(!(m.jitter_sigma > 0) && m.units == 8);
	ok(sim_model_parse("", "dir/empty.model", &m));
	expect_str(m.name, "empty.model");
	expect(m.units == 8);
	ok(sim_model_parse("# all of it\n\n  like =  quiet # base\r\nunits=3\n"
			   "\tllc_bytes = 2M\nlaunch_ns = 1.5e3\n"
			   "shared_granularity_bytes = 256\nslow_down = gemm 1.5\n"
			   "slow_down = engine  2\nlacks = gemm peer\nseed = 99\n"
			   "peer_bandwidth 0>3 = 12.5e9\npeer_latency_ns\t0>3 = 700\n"
			   "peer_latency_ns 63>0 = 1\n",
			   "x", &m));
	expect(!(m.jitter_sigma > 0) && m.units == 3 && m.llc_bytes == 2 << 20 && m.seed == 99);
	expect_near(m.launch_ns, 1500, 0);
	expect(m.slow_downs == 2);
	expect_str(m.slow_down[1].what, "engine");
	expect(m.lacks == (DEV_CAP_GEMM | DEV_CAP_PEER));
	expect(m.pairs == 2 && m.pair[0].from == 0 && m.pair[0].to == 3 && m.pair[1].from == 63);
	expect_near(m.pair[0].bandwidth, 12.5e9, 0);
	expect_near(m.pair[0].latency_ns, 700, 0);
	expect(isnan(m.pair[1].bandwidth));
}

static const struct {
	const char *text, *says;
} bad[] = {
	{"units", "x:1: 'units' is not 'key = value'"},
	{"\n\nunits =", "x:3: 'units =' is not 'key = value'"},
	{"= 3", "x:1"},
	{"unit = 3", "x:1: unknown key 'unit'; perhaps units unit_bandwidth"},
	{"Units = 3", "unknown key 'Units'"},
	{"units = three", "x:1: units = 'three' is not a whole number"},
	{"units = 3.5", "is not a whole number"},
	{"units = 3x", "is not a whole number"},
	{"units = 3 4", "is not a whole number"},
	{"units = 3K", "is not a whole number"},
	{"units = 0x10", "is not a whole number"},
	{"units = 0", "units = 0 is outside 1 to 1024"},
	{"units = -1", "is outside"},
	{"memory_bandwidth = 0", "is outside"},
	{"memory_bandwidth = nan", "is not a number"},
	{"memory_bandwidth = inf", "is not a number"},
	{"memory_bandwidth = 1e999", "is not a number"},
	{"block_share = 1.1", "is outside"},
	{"units = 3\npriorities = 2", "x:2: priorities = 2; only 1 and 3 are possible"},
	{"units = 3\nunits = 3", "x:2: units is set twice"},
	{"units = 3\nlike = quiet", "x:2: 'like' must be the first line"},
	{"like = loud", "models: default, quiet"},
	{"data = none\ncorrupt_copy_every = 2", "x:2: corrupt_copy_every needs data = real"},
	{"corrupt_launch_every = 2\ndata = none", "x:1: corrupt_launch_every needs data = real"},
	{"shared_per_unit_bytes = 1K\nshared_per_block_bytes = 2K",
	 "x:2: shared_per_block_bytes = 2048 is more than shared_per_unit_bytes = 1024"},
	{"units = 3\nshared_per_unit_bytes = 1K",
	 "x:2: shared_per_block_bytes = 49152 is more than shared_per_unit_bytes = 1024"},
	{"llc_bytes = 1M\nmemory_bytes = 1000K",
	 "x:1: llc_bytes = 1048576 is more than memory_bytes = 1024000"},
	{"memory_bytes = 1M", "x:1: llc_bytes = 4194304 is more than memory_bytes = 1048576"},
	{"peer_bandwidth 0>3 = 1e9\ndevices = 3", "x:1: peer_bandwidth 0>3: devices are 0 to 2"},
	{"devices = 3\npeer_latency_ns 3>0 = 1", "x:2: peer_latency_ns 3>0: devices are 0 to 2"},
	{"links = star",
	 "x:1: links: unknown word 'star'; words: switch mesh ring pairs torus:AxB"},
	{"links = ring\nlinks = mesh", "x:2: links is set twice"},
	{"units = 3\nlinks = torus:4x2", "x:2: links = torus:4x2 has 8 devices; devices = 64"},
	{"devices = 8\nlinks = torus:8", "x:2: links: '8' is not a torus such as torus:4x2"},
	{"devices = 8\nlinks = torus:8x", "'8x' is not a torus"},
	{"devices = 8\nlinks = torus:0x8", "'0x8' is not a torus"},
	{"devices = 8\nlinks = torus:2x2x2x1", "'2x2x2x1' is not a torus"},
	{"links = torus:4294967304x8", "is not a torus"},
	{"devices = 4\nlinks = ring\npeer_bandwidth 0>2 = 1e9",
	 "x:3: peer_bandwidth 0>2: no link of 'ring'"},
	{"devices = 8\npeer_latency_ns 0>5 = 1\nlinks = torus:4x2",
	 "x:2: peer_latency_ns 0>5: no link of 'torus:4x2'"},
	{"links = ./absent.links", "x:1: links: read ./absent.links: No such file or directory"},
	{"memory_policy = first", "words: fair compute-first"},
	{"units = 3\nmemory_policy = fair", "x:2: memory_policy needs memory_control = 1"},
	{"memory_control = 0\nmemory_threshold = 1", "x:2: memory_threshold needs"},
	{"memory_starvation = 0.1", "x:1: memory_starvation needs memory_control = 1"},
	{"memory_control = 1\nmemory_threshold = 0", "x:2: memory_threshold = 0 is outside"},
	{"memory_control = 1\nmemory_threshold = 1.01", "is outside 1e-06 to 1"},
	{"memory_control = 1\nmemory_starvation = 1", "is outside 1e-06 to 0.999"},
	{"queue_wait_ns_per_kib = -1", "is outside"},
	{"memory_adds = 2", "memory_adds = 2 is outside 0 to 1"},
	{"add_cost = 2", "x:1: add_cost needs memory_adds = 1"},
	{"l1_bytes = 16K\nl1_latency_ns = 9", "x:1: l1_bytes needs l1_bandwidth"},
	{"l1_bytes = 16K\nl1_bandwidth = 1e9", "x:1: l1_bytes needs l1_latency_ns"},
	{"l1_bandwidth = 1e9", "x:1: l1_bandwidth needs l1_bytes"},
	{"l1_divided = 1", "x:1: l1_divided needs l1_bytes"},
	{"like = h100\nl1_bytes = 0\nl1_latency_ns = 9", "x:3: l1_latency_ns needs l1_bytes"},
	{"like = h100\nl1_bytes = 128K",
	 "x:2: shared_per_unit_bytes = 233472 is more than l1_bytes = 131072"},
	{"l2_bytes = 1M\nl2_latency_ns = 9", "x:1: l2_bytes needs l2_units"},
	{"l2_units = 2\nl2_bytes = 1M", "x:2: l2_bytes needs l2_latency_ns"},
	{"l2_latency_ns = 9", "x:1: l2_latency_ns needs l2_bytes"},
	{"memory_adds = 0\ntracker_entries = 2", "x:2: tracker_entries = 2 needs memory_adds = 1"},
	{"memory_adds = 1\nadd_cost = 0.5", "x:2: add_cost = 0.5 is outside 1 to"},
	{"devices = 65", "x:1: devices = 65 is outside 1 to 64"},
	{"slow_down = gemm", "needs a name and a factor"},
	{"slow_down = gem 2", "unknown name 'gem'; names: read write write_nt "},
	{"slow_down = gemm 0", "is not a factor"},
	{"peer_bandwidth 0-3 = 1e9",
	 "x:1: peer_bandwidth '0-3' is not an ordered pair of devices, such as 0>3"},
	{"peer_bandwidth 0>3x = 1e9", "is not an ordered pair"},
	{"peer_bandwidth 0>-3 = 1e9", "is not an ordered pair"},
	{"peer_bandwidth 0> 3 = 1e9", "is not an ordered pair"},
	{"peer_bandwidth 0>64 = 1e9", "'0>64': devices are 0 to 63"},
	{"peer_bandwidth 18446744073709551616>0 = 1e9", "devices are 0 to 63"},
	{"peer_bandwidth 3>3 = 1e9", "'3>3': a pair needs two different devices"},
	{"peer_bandwidth 0>3 = 0", "x:1: peer_bandwidth = 0 is outside"},
	{"peer_latency_ns 0>3 = fast", "is not a number"},
	{"peer_bandwidth 0>3 = 1e9\npeer_latency_ns 0>3 = 1\npeer_bandwidth 0>3 = 1e9",
	 "x:3: peer_bandwidth 0>3 is set twice"},
	{"units 0>3 = 3", "units cannot be set for a pair; peer_bandwidth and"},
	{"peer 0>3 = 3", "unknown key 'peer'; perhaps peer_latency_ns peer_bandwidth"},
	{"lacks = virtual_time",
	 "unknown capability 'virtual_time'; capabilities: gemm copy_engine "},
	{"lacks = gemm everything",
	 "unknown capability 'everything'; capabilities: gemm copy_engine "},
};

static void bad_models(void)
{
	struct sim_model m = {.units = 77};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expect_error(sim_model_parse(bad[i].text, "x", &m), -EINVAL);
		if (!strstr(err_text(), bad[i].says))
			printf("# '%s' says: %s\n", bad[i].text, err_text());
		expect(strstr(err_text(), bad[i].says) != NULL);
		expect(m.units == 77);
	}
}

static void models_by_name(void)
{
	struct dev_set set;
	struct sim_model m;
	expect_error(sim_model_load("loud", &m), -EINVAL);
	expect(strstr(err_text(), "default, quiet") != NULL);
	expect_error(sim_model_load("/dev/null/x.model", &m), -EINVAL);
	expect_error(sim_model_load("/", &m), -EINVAL);
	expect_error(dev_open("sim:loud", 0, &set), -EINVAL);
	expect_error(sim_try("units = none\n", ""), -EINVAL);
	ok(dev_open("sim:quiet:3,1", 0, &set));
	expect(set.count == 2 && set.dev[0]->index == 3 && set.dev[1]->index == 1);
	dev_close(&set);
	ok(sim_try("devices = 3\n", ":2"));
	sim_end();
	expect_error(sim_try("devices = 3\n", ":3"), -ENODEV);
	expect(strstr(err_text(), ".model' has devices 0 to 2") != NULL);
	ok(sim_try("units = 5\nslots_per_unit = 3\n", ":0-2"));
	expect(sim.set.count == 3 && dev_props(sim.d)->units == 5);
	expect(strstr(dev_props(sim.d)->name, ".model") != NULL);
	sim_end();
}

static void built_in_models(void)
{
	struct sim_model m;
	char names[256], *rest;
	unsigned count = 0;
	snprintf(names, sizeof(names), "%s", sim_model_names);
	for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest)) {
		char spec[96], line[96];
		struct dev_set set;
		err_clear();
		ok(sim_model_load(name, &m));
		expect_str(m.name, name);
		snprintf(spec, sizeof(spec), "sim:%s:0-%u", name, m.devices - 1);
		ok(dev_open(spec, DEV_CAP_ALL, &set));
		expect(set.count == m.devices);
		for (size_t i = 0; i < set.count; i++)
			for (size_t j = 0; j < set.count; j++)
				if (i != j && dev_peer_enable(set.dev[i], set.dev[j]))
					expect_str(err_text(), "");
		dev_close(&set);
		snprintf(line, sizeof(line), "like = %s\nlaunch_ns = 7\n", name);
		ok(sim_model_parse(line, "x", &m));
		expect_near(m.launch_ns, 7, 0);
		count++;
	}
	expect(count == 12);
	ok(sim_model_parse("like = mi300x\n", "x", &m));
	expect(m.units == 304 && m.devices == 8 && m.data == SIM_DATA_NONE &&
	       m.links == SIM_LINKS_MESH);
	ok(sim_model_parse("like = mi250x\n", "x", &m));
	expect(m.links == SIM_LINKS_FILE && m.pairs == 24 && m.pair[0].linked);
	expect_near(m.pair[0].bandwidth, 200e9, 0);
}

static const struct {
	const char *spec, *says;
} bad_changes[] = {
	{"quiet?", "sim: quiet?: '' is not 'key = value'"},
	{"quiet?units", "sim: quiet?units: 'units' is not 'key = value'"},
	{"quiet?units=3,", "sim: quiet?: '' is not 'key = value'"},
	{"quiet?peer_bandwith=2x", "sim: quiet?peer_bandwith=2x: unknown key 'peer_bandwith'; "},
	{"quiet?units=three", "sim: quiet?units=three: units = 'three' is not a whole number"},
	{"quiet?units=0.3x", "sim: quiet?units=0.3x: units = '2.4' is not a whole number"},
	{"quiet?units=1000x", "sim: quiet?units=1000x: units = 8000 is outside 1 to 1024"},
	{"quiet?units=2xx", "units = '2xx' is not a whole number"},
	{"quiet?units=0x10", "units = '0x10' is not a whole number"},
	{"quiet?units=-1x", "units = '-1x' is not a whole number"},
	{"quiet?units=x", "units = 'x' is not a whole number"},
	{"quiet?units=3&launch_ns=1,units=4", "sim: quiet?units=4: units is set twice"},
	{"quiet?like=mi300x", "sim: quiet?like=mi300x: 'like' must be the first line"},
	{"quiet?llc_writes=2x", "sim: quiet?llc_writes=2x: llc_writes: unknown word '2x'; "},
	{"quiet?injection_bandwidth=2x", "injection_bandwidth is 0 and cannot be multiplied"},
	{"quiet?launch_ns=1,memory_bytes=1M",
	 "sim: quiet?launch_ns=1,memory_bytes=1M: llc_bytes = 4194304 is more than "},
	{"quiet?links=torus:3x3", "links = torus:3x3 has 9 devices; devices = 64"},
	{"mi250x?peer_bandwidth 0>3=1e9", "peer_bandwidth 0>3: no link of 'mi250x'"},
	{"loud?units=3", "sim: unknown model 'loud'"},
};

static void specs_change_models(void)
{
	struct sim_model m, like;
	ok(sim_model_load("mi300x", &like));
	ok(sim_model_load("mi300x?peer_bandwidth=2x,units=0.5x&llc_writes=through,llc_bytes=64K",
			  &m));
	expect_near(m.peer_bandwidth, 2 * like.peer_bandwidth, 0);
	expect(m.units == 152 && m.llc_writes == 1 && m.llc_bytes == 64 << 10);
	expect(m.slots_per_unit == like.slots_per_unit && like.llc_writes == 0);
	expect_str(m.name, "mi300x?peer_bandwidth=2x,units=0.5x&llc_writes=through,llc_byte");
	ok(sim_model_load("default?launch_ns = 1.5x, lacks = gemm peer,slow_down=gemm 2", &m));
	expect_near(m.launch_ns, 3000, 0);
	expect(m.lacks == (DEV_CAP_GEMM | DEV_CAP_PEER) && m.slow_downs == 1 && m.jitter_sigma > 0);
	/* A ring has as many devices as the machine; a torus has its own number. */
	ok(sim_model_load("quiet?links=ring", &m));
	expect(m.torus[0] == 64);
	ok(sim_model_load("quiet?links=ring,devices=12", &m));
	expect(m.torus[0] == 12 && m.torus[1] == 1);
	ok(sim_model_load("t3?devices=64", &m));
	expect(m.torus[0] == 64);
	expect(sim_model_parse("like = t3\ndevices = 5\n", "five", &m) == 0 && m.torus[0] == 5);
	expect(sim_model_parse("links = ring\ndevices = 8\n", "eight", &m) == 0 && m.torus[0] == 8);
	/* Pairs: a factor for all holds for all, and a pair may be set again. */
	ok(sim_model_load("mi250x?peer_bandwidth=2x,peer_bandwidth 0>1=7e9,peer_bandwidth 1>0=3x",
			  &m));
	expect(m.pairs == 24 && m.pair[0].to == 1 && m.pair[1].to == 2 && m.pair[3].from == 1);
	expect_near(m.peer_bandwidth, 100e9, 0);
	expect_near(m.pair[0].bandwidth, 7e9, 0);
	expect_near(m.pair[1].bandwidth, 100e9, 0);
	expect_near(m.pair[3].bandwidth, 1200e9, 0);
	/* Other links have nothing of the old ones. */
	ok(sim_model_load("mi250x?links=torus:2x4", &m));
	expect(m.links == SIM_LINKS_TORUS && m.pairs == 0);
	for (size_t i = 0; i < sizeof(bad_changes) / sizeof(bad_changes[0]); i++) {
		expect_error(sim_model_load(bad_changes[i].spec, &m), -EINVAL);
		if (!strstr(err_text(), bad_changes[i].says))
			printf("# '%s' says: %s\n", bad_changes[i].spec, err_text());
		expect(strstr(err_text(), bad_changes[i].says) != NULL);
		expect(strchr(err_text(), '\n') == NULL);
	}
	ok(sim_try("units = 5\n", "?units=2x:0,1"));
	expect(sim.set.count == 2 && dev_props(sim.d)->units == 10);
	expect(strstr(dev_props(sim.d)->name, ".model?units=2x)") != NULL);
	sim_end();
}

struct wanted_key {
	const char *name;
	char word[16];
	double number;
	int found;
};

static void take_key(void *context, const char *key, const char *word, double number)
{
	struct wanted_key *wanted = context;
	if (strcmp(key, wanted->name) != 0)
		return;
	snprintf(wanted->word, sizeof(wanted->word), "%s", word ? word : "");
	wanted->number = number;
	wanted->found++;
}

static struct wanted_key key_of(const struct sim_model *m, const char *name)
{
	struct wanted_key wanted = {.name = name};
	sim_model_put_keys(m, take_key, &wanted);
	return wanted;
}

/* A file of this text, as a spec names it. */
static uint64_t contents_of(const char *text)
{
	struct sim_model m;
	char path[] = "/tmp/gpusig-model.XXXXXX", spec[64];
	const int fd = mkstemp(path);
	expect(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	snprintf(spec, sizeof(spec), "%s?units=3", path);
	ok(sim_model_load(spec, &m));
	unlink(path);
	return m.contents;
}

/* DIR/signature.json, with a change: the model is in DIR/machine.model. */
static void a_signature_names_the_model_in_its_folder(void)
{
	struct sim_model m;
	char folder[] = "/tmp/gpusig-run.XXXXXX", path[64], spec[96];
	expect(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/machine.model", folder);
	snprintf(spec, sizeof(spec), "%s/signature.json?copy_ns=2x", folder);
	expect_error(sim_model_load(spec, &m), -EINVAL);
	expect(strstr(err_text(), path) && strstr(err_text(), "gpusig report"));
	FILE *file = fopen(path, "w");
	expect(file && fputs("copy_ns = 700\n", file) >= 0 && fclose(file) == 0);
	ok(sim_model_load(spec, &m));
	expect(m.copy_ns == 1400 && strcmp(m.base, "machine.model") == 0);
	unlink(path);
	snprintf(spec, sizeof(spec), "%s/my-signature.json", folder);
	expect_error(sim_model_load(spec, &m), -EINVAL);
	expect(strstr(err_text(), "my-signature.json") != NULL);
	rmdir(folder);
}

static void a_spec_changes_keys_and_not_contents(void)
{
	struct sim_model plain, m;
	ok(sim_model_load("mi300x", &plain));
	ok(sim_model_load("mi300x?peer_bandwidth=0.5x,peer_bandwidth 0>3=9e9,lacks=gemm,"
			  "slow_down=engine 2,llc_writes=through",
			  &m));
	expect_str(m.base, "mi300x");
	expect(m.contents == plain.contents && m.contents);
	expect_near(key_of(&m, "peer_bandwidth").number, plain.peer_bandwidth / 2, 0);
	expect_near(key_of(&m, "peer_bandwidth 0>3").number, 9e9, 0);
	expect_near(key_of(&m, "slow_down engine").number, 2, 0);
	expect(key_of(&m, "lacks gemm").found == 1 && !key_of(&plain, "lacks gemm").found);
	expect_str(key_of(&m, "llc_writes").word, "through");
	ok(sim_model_load("quiet?devices=8,links=torus:2x4", &m));
	expect_str(key_of(&m, "links").word, "torus:2x4x1");
	for (size_t i = 0; i < sim_key_count; i++)
		expect(key_of(&m, sim_keys[i].name).found == !sim_keys[i].unlisted_at_0);
}

static void contents_are_what_a_model_says(void)
{
	const uint64_t own = contents_of("like = h100\nunits = 100\n");
	expect(own == contents_of("# of another year\nlike = h100\nunits =   100\n"));
	expect(own != contents_of("like = h100\nunits = 101\n"));
	expect(own != contents_of("like = h200\nunits = 100\n"));
	expect(own != contents_of("like = h100\nunits = 100\npeer_latency_ns 1>0 = 7\n"));
	expect(own != contents_of("like = h100\nunits = 100\nslow_down = gemm 2\n"));
}

static void capabilities_that_a_model_lacks_are_absent(void)
{
	double hz;
	uint32_t blocks;
	struct dev_kernel *k;
	sim_begin("lacks = gemm copy_engine priority wait_value occupancy peer clock_rate "
		  "unit_mask\n");
	const struct dev_props *p = dev_props(sim.d);
	struct dev_stream *s = open_stream();
	uint32_t *at = alloc_memory(DEV_MEM_PINNED, 1001),
		 *twin = alloc_memory(DEV_MEM_DEVICE, 1001);
	expect(p->caps == DEV_CAP_VIRTUAL_TIME);
	expect(p->copy_engines == 0 && p->priority_low == p->priority_high &&
	       p->shared_per_unit_bytes == 0);
	expect_error(dev_clock_rate(sim.d, &hz), -ENOTSUP);
	expect_error(dev_wait_value(sim.d, s, at, 1), -ENOTSUP);
	expect_error(dev_peer_enable(sim.d, sim.other), -ENOTSUP);
	struct dev_gemm g = {.type = DEV_F32,
			     .m = 1,
			     .n = 1,
			     .k = 1,
			     .a = at,
			     .b = at,
			     .c = at,
			     .lda = 1,
			     .ldb = 1,
			     .ldc = 1};
	expect_error(dev_gemm(sim.d, s, &g), -ENOTSUP);
	ok(dev_kernel_find(sim.d, "blocking_kernel", &k));
	ok(dev_occupancy(sim.d, k, 0, 0, &blocks));
	expect(blocks == p->slots_per_unit);
	/* Then copies run on the units, with any size. */
	memset(at, 7, 1001);
	ok(dev_copy(sim.d, s, twin, at, 1001));
	ok(dev_fill(sim.d, s, at, 0, 1001));
	ok(dev_copy(sim.d, s, (char *)at + 1, (char *)twin + 1, 1000));
	ok(dev_stream_sync(sim.d, s));
	expect(((char *)at)[0] == 0 && ((char *)at)[1] == 7 && ((char *)at)[1000] == 7);
	sim_end();
}

static void gemms_without_tiles_are_plain(void)
{
	sim_begin("lacks = gemm_tiled\n");
	const struct dev_props *p = dev_props(sim.d);
	struct dev_stream *s = open_stream();
	float *a = alloc_memory(DEV_MEM_DEVICE, 4096);
	expect(dev_can(sim.d, DEV_CAP_GEMM) && !dev_can(sim.d, DEV_CAP_GEMM_TILED));
	expect(p->gemm_types == (1u << DEV_F32 | 1u << DEV_F64) && p->gemm_tiled_types == 0 &&
	       p->gemm_tile_rows == 0);
	struct dev_gemm g = {.type = DEV_F32,
			     .m = 4,
			     .n = 4,
			     .k = 4,
			     .a = a,
			     .b = a,
			     .c = a + 64,
			     .lda = 4,
			     .ldb = 4,
			     .ldc = 4};
	ok(dev_gemm(sim.d, s, &g));
	g.shared_bytes = 1;
	expect_error(dev_gemm(sim.d, s, &g), -ENOTSUP);
	g.tiled = true;
	expect_error(dev_gemm(sim.d, s, &g), -ENOTSUP);
	ok(dev_stream_sync(sim.d, s));
	sim_end();
}

static void reserved_shared_memory_counts(void)
{
	static const struct {
		uint64_t shared;
		uint32_t blocks;
	} cases[] = {{0, 32}, {1, 32}, {24, 32}, {25, 16}, {1024, 3}};
	uint32_t blocks;
	struct dev_kernel *k;
	/* A pool of 4096 in pieces of 128; 104 are reserved for each block. */
	sim_begin("shared_per_unit_bytes = 4096\n"
		  "shared_per_block_bytes = 1024\n"
		  "shared_granularity_bytes = 128\n"
		  "shared_reserved_bytes = 104\nslots_per_unit = 32\n");
	expect(dev_props(sim.d)->shared_reserved_bytes == 104);
	ok(dev_kernel_find(sim.d, "blocking_kernel", &k));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ok(dev_occupancy(sim.d, k, 0, cases[i].shared, &blocks));
		expect(blocks == cases[i].blocks);
	}
	expect_error(dev_occupancy(sim.d, k, 0, 1025, &blocks), -EINVAL);
	sim_end();
}

int main(void)
{
	test(good_models);
	test(bad_models);
	test(models_by_name);
	test(built_in_models);
	test(specs_change_models);
	test(a_signature_names_the_model_in_its_folder);
	test(a_spec_changes_keys_and_not_contents);
	test(contents_are_what_a_model_says);
	test(capabilities_that_a_model_lacks_are_absent);
	test(gemms_without_tiles_are_plain);
	test(reserved_shared_memory_counts);
	return test_done();
}
