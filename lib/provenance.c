/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/provenance.h"
#include "lib/core_kinds.h"
#include "lib/cores.h"
#include "lib/first_line.h"
#include "lib/processor.h"
#include "lib/text.h"
#include "lib/units.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Lines of "key value"; the first is the version. Written by the Makefile. */
static const char config[] =
#include BUILD_CONFIG
	;

/* Only these variables are recorded: they change results, and none of them holds a secret. */
static const char *const recorded_environment[] = {
	"GPUSIG_BLAS",
	"GPUSIG_CORE_KINDS",
	"OMP_NUM_THREADS",
	"OPENBLAS_CORETYPE",
	"OPENBLAS_NUM_THREADS",
	"BLIS_ARCH_TYPE",
	"BLIS_NUM_THREADS",
	"CUDA_VISIBLE_DEVICES",
	"CUDA_DEVICE_MAX_CONNECTIONS",
	"HIP_VISIBLE_DEVICES",
	"ROCR_VISIBLE_DEVICES",
	"GPU_MAX_HW_QUEUES",
	"DEBUG_HIP_DYNAMIC_QUEUES",
	"ROC_P2P_SDMA_SIZE",
	"GPU_FORCE_BLIT_COPY_SIZE",
	"CUDA_LAUNCH_BLOCKING",
	"CUDA_MODULE_LOADING",
	"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
	"CUDA_MPS_PIPE_DIRECTORY",
	"HSA_ENABLE_SDMA",
	"HSA_XNACK",
	"DEBUG_HIP_IGNORE_STREAM_PRIORITY",
	"NCCL_ALGO",
	"NCCL_PROTO",
	"NCCL_P2P_LEVEL",
	"NCCL_P2P_DISABLE",
	"SLURM_JOB_ID",
	"SLURM_CLUSTER_NAME",
	"SLURM_JOB_PARTITION",
	"SLURM_JOB_NODELIST",
	"SLURM_NODELIST",
	"SLURMD_NODENAME",
	"HWLOC_COMPONENTS",
	"HWLOC_FSROOT",
	"HWLOC_SYNTHETIC",
	"HWLOC_THISSYSTEM",
	"HWLOC_XMLFILE",
	"LD_PRELOAD",
	"MALLOC_ARENA_MAX",
	"GLIBC_TUNABLES",
};

static void put_line(struct json *j, const char *key, const char *path)
{
	char text[4096]; /* the most that a file of /sys has */
	json_string(j, key, first_line_read(path, text, sizeof(text)) ? text : NULL);
}

static void put_field(struct json *j, const char *key, const char *path, const char *name,
		      char separator)
{
	char *value = first_field_read(path, name, separator);
	json_string(j, key, value);
	free(value);
}

static void put_caches(struct json *j)
{
	char path[128], level[16], type[32], size[32], label[64];
	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
		if (!first_line_read(path, level, sizeof(level)))
			return;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
		if (!first_line_read(path, type, sizeof(type)))
			return;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		if (!first_line_read(path, size, sizeof(size)))
			return;
		snprintf(label, sizeof(label), "cache_l%s_%s", level, type);
		uint64_t bytes;
		if (units_parse_size(size, &bytes) == 0)
			json_integer(j, label, bytes);
	}
}

static void put_count(struct json *j, const char *key, const char *pattern)
{
	glob_t found;
	if (glob(pattern, 0, NULL, &found) == 0) {
		json_integer(j, key, found.gl_pathc);
		globfree(&found);
	} else {
		json_null(j, key);
	}
}

void provenance_host(char *name, size_t capacity, char other)
{
	if (gethostname(name, capacity) != 0 || !name[0])
		snprintf(name, capacity, "unknown");
	name[capacity - 1] = '\0';
	for (char *at = name; *at; at++)
		if (*at <= ' ' || *at > '~')
			*at = other;
}

/* Cores that compute at once: no second thread of a core, none that the quota denies. */
static void put_cores(struct json *j)
{
	int *cores = malloc(CORES_MAX * sizeof(*cores));
	const size_t count = cores ? cores_online("", cores) : 0;
	if (count)
		json_integer(j, "cores_physical", cores_apart("", cores, count, cores));
	else
		json_null(j, "cores_physical");
	free(cores);
	const double quota = cores_quota("");
	if (isfinite(quota))
		json_number(j, "cpu_quota", quota);
	else
		json_null(j, "cpu_quota");
	char *kinds = core_kinds_text("");
	json_string(j, "core_kinds", kinds);
	free(kinds);
}

/* ./gpusig gives the name that lscpu has. It is beside what tells machines apart, for it depends on
 * lscpu's version. */
static void put_processor(struct json *j)
{
	struct text identity = {0};
	bool named = processor_identify("", &identity);
	json_string(j, "cpu", text_whole(&identity));
	if (!named && getenv("GPUSIG_CPU_NAME"))
		json_string(j, "cpu_name", getenv("GPUSIG_CPU_NAME"));
	text_free(&identity);
}

static void put_machine(struct json *j)
{
	struct utsname system;
	json_string(j, "hostname", uname(&system) == 0 ? system.nodename : NULL);
	json_string(j, "kernel", uname(&system) == 0 ? system.release : NULL);
	json_string(j, "architecture", uname(&system) == 0 ? system.machine : NULL);
	put_field(j, "os", "/etc/os-release", "PRETTY_NAME", '=');
	put_processor(j);
	put_field(j, "cpu_family", "/proc/cpuinfo", "cpu family", ':');
	put_field(j, "cpu_model", "/proc/cpuinfo", "model\t", ':');
	put_field(j, "microcode", "/proc/cpuinfo", "microcode", ':');
	const int is_virtual = processor_is_virtual();
	if (is_virtual >= 0)
		json_bool(j, "virtual_machine", is_virtual);
	else
		json_null(j, "virtual_machine");
	put_line(j, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	put_line(j, "clocksource",
		 "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	put_line(j, "huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled");
	put_line(j, "smt", "/sys/devices/system/cpu/smt/control");
	put_line(j, "load_average", "/proc/loadavg");
	put_count(j, "numa_nodes", "/sys/devices/system/node/node[0-9]*");
	put_count(j, "iommu_groups", "/sys/kernel/iommu_groups/*");
	/* The processors that the process may run on, which may be near a device or far from it. */
	put_field(j, "affinity", "/proc/self/status", "Cpus_allowed_list", ':');
	json_number(j, "nice", getpriority(PRIO_PROCESS, 0));
	json_integer(j, "cores_online", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	put_cores(j);
	json_integer(j, "memory_bytes",
		     (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE));
	put_caches(j);
}

/* Each "key value" line of the build text becomes a key of its own. */
static void put_build(struct json *j)
{
	char text[sizeof(config)];
	memcpy(text, config, sizeof(config));
	for (char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		char *space = strchr(line, ' ');
		if (space) {
			*space = '\0';
			json_string(j, line, space + 1);
		}
	}
}

void provenance_write(struct json *j)
{
	json_object_begin(j, "provenance");
	put_machine(j);
	put_build(j);
	json_object_begin(j, "environment");
	for (size_t i = 0; i < sizeof(recorded_environment) / sizeof(recorded_environment[0]); i++)
		if (getenv(recorded_environment[i]))
			json_string(j, recorded_environment[i], getenv(recorded_environment[i]));
	json_object_end(j);
	json_object_end(j);
}

const char *provenance_config(void) { return config; }

const char *provenance_version(void)
{
	static char version[128];
	if (!version[0])
		snprintf(version, sizeof(version), "%.*s", (int)strcspn(config + 8, "\n"),
			 config + 8);
	return version;
}
