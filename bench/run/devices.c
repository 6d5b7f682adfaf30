/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/run/devices.h"
#include "bench/out.h"
#include "bench/run/telemetry.h"
#include "device/dev_libraries.h"
#include "lib/cores.h"
#include "lib/err.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BACKENDS = 16 };

static const char host[] = "host", simulated[] = "sim";

/* Without --device: the first backend for hardware besides the host that has a device, else the
 * host. A simulated device is never chosen by default, and the ranks of a job run on the host. */
static const char *default_device(struct bench_run *r)
{
	struct dev_backend_info info[BACKENDS];
	size_t count = r->b->job ? 0 : dev_backends(info, BACKENDS);
	r->skipped_backends[0] = '\0';
	for (size_t i = 0; i < count && i < BACKENDS; i++) {
		if (strcmp(info[i].name, host) == 0 || strcmp(info[i].name, simulated) == 0)
			continue;
		if (info[i].devices)
			return info[i].name;
		text_fit_more(r->skipped_backends, sizeof(r->skipped_backends), "; no %s: %s",
			      info[i].name, info[i].why);
	}
	return host;
}

/* Append the devices of this machine to the reason of the failure. */
static int add_available_devices(int status)
{
	struct dev_backend_info info[BACKENDS];
	char cause[ERR_TEXT], here[160] = "";
	text_fit(cause, sizeof(cause), "%s", err_text());
	size_t count = dev_backends(info, BACKENDS);
	for (size_t i = 0; i < count && i < BACKENDS; i++)
		if (info[i].devices)
			text_fit_more(here, sizeof(here), "%s%s", here[0] ? ", " : "",
				      info[i].name);
	return err_note(status, "%s; here: %s", cause, here[0] ? here : "none");
}

int bench_device_open(struct bench_run *r)
{
	unsigned devices = r->b->min_devices ? r->b->min_devices : 1;
	r->is_default_device = !r->o.device;
	if (r->is_default_device)
		r->o.device = default_device(r);
	if (r->is_default_device && r->b->default_devices) {
		snprintf(r->default_devices, sizeof(r->default_devices), "%s:0-%u", r->o.device,
			 r->b->default_devices - 1);
		r->o.device = r->default_devices;
	}
	int status = dev_open(r->o.device, r->b->needs | r->b->wants | dev_want_by_build, &r->set);
	if (status)
		return status == -ENODEV ? add_available_devices(status) : status;
	r->c.dev = r->set.dev[0];
	r->c.devices = &r->set;
	if (r->set.count < devices)
		return err_note(-ENODEV, "needs %u devices; %s has %zu", devices, r->o.device,
				r->set.count);
	for (enum dev_cap_bit i = 0; i < DEV_CAP_COUNT; i++) {
		const char *why = dev_lack_reason(r->c.dev, i);
		if (r->b->needs >> i & 1 && !dev_can(r->c.dev, 1u << i))
			return err_note(-ENODEV, "%s does not support %s%s%s", r->o.device,
					dev_cap_names[i], why[0] ? ": " : "", why);
	}
	return 0;
}

const char *bench_device_spec(const struct bench_case *c) { return c->run->o.device; }

void bench_device_list(void)
{
	struct dev_backend_info info[BACKENDS];
	struct json j = {0};
	size_t count = dev_backends(info, BACKENDS);
	int *cores = malloc(CORES_MAX * sizeof(*cores));
	const size_t at_once = cores ? cores_at_once("", cores, cores_allowed(cores), cores) : 0;
	free(cores);
	for (size_t i = 0; i < count && i < BACKENDS; i++) {
		json_clear(&j);
		json_object_begin(&j, NULL);
		json_string(&j, "name", info[i].name);
		json_integer(&j, "devices", info[i].devices);
		json_string(&j, "why", info[i].why);
		json_integer(&j, "cores", at_once);
		if (dev_backend_models(info[i].name))
			json_string(&j, "models", dev_backend_models(info[i].name));
		json_object_end(&j);
		if (json_finish(&j) == 0)
			out_write(j.text, j.length);
	}
	json_free(&j);
}

static void put_words(struct json *j, const char *key, uint32_t bits, const char *const words[],
		      size_t count)
{
	json_array_begin(j, key);
	for (size_t i = 0; i < count; i++)
		if (bits >> i & 1)
			json_string(j, NULL, words[i]);
	json_array_end(j);
}

void bench_device_write_libraries(struct json *j, struct bench_run *r)
{
	const char *paths[DEV_LIBRARIES_MAX];
	const size_t count = dev_libraries(paths, DEV_LIBRARIES_MAX);
	if (!count)
		return;
	json_array_begin(j, "libraries");
	for (size_t i = 0; i < count; i++)
		json_string(j, NULL, paths[i]);
	json_array_end(j);
}

/* Unknown values are left out, with one reason for all. */
static void put_nominal(struct json *j, const struct dev_nominal *n)
{
	json_object_begin(j, "nominal");
	json_object_begin(j, "gemm_flop_rate");
	for (int type = 0; type < DEV_TYPES; type++)
		if (n->gemm_flops[type] > 0)
			json_number(j, dev_type_names[type], n->gemm_flops[type]);
	json_object_end(j);
	json_object_begin(j, "fma_flop_rate");
	if (n->fma_flops_f32 > 0)
		json_number(j, "f32", n->fma_flops_f32);
	if (n->fma_flops_f64 > 0)
		json_number(j, "f64", n->fma_flops_f64);
	json_object_end(j);
	json_number(j, "memory_bandwidth", n->memory_bandwidth > 0 ? n->memory_bandwidth : NAN);
	json_bool(j, "clock_varies", n->clock_varies);
	json_string(j, "unknown", n->unknown[0] ? n->unknown : NULL);
	json_object_end(j);
}

static void put_model_key(void *context, const char *key, const char *word, double number)
{
	if (word)
		json_string(context, key, word);
	else
		json_number(context, key, number);
}

/* The devices of a list are of one model, so the first one has its keys. */
static void put_model(struct json *j, struct bench_run *r, struct dev *dev)
{
	json_object_begin(j, "model");
	json_string(j, "name", dev_props(dev)->model);
	json_string(j, "contents", dev_props(dev)->model_contents);
	if (dev == r->set.dev[0] && dev->ops->model_read) {
		json_object_begin(j, "keys");
		dev->ops->model_read(dev, put_model_key, j);
		json_object_end(j);
	}
	json_object_end(j);
}

void bench_device_write(struct json *j, struct bench_run *r, struct dev *dev)
{
	const struct dev_props *p = dev_props(dev);
	struct bench_telemetry state;
	bench_telemetry_read(dev, &state);
	json_object_begin(j, NULL);
	json_string(j, "spec", r->o.device);
	json_string(j, "backend", dev->ops->name);
	json_integer(j, "index", dev->index);
	json_string(j, "name", p->name);
	json_string(j, "bus", p->bus);
	bench_telemetry_write_identity(j, &state);
	json_string(j, "driver", p->driver);
	json_string(j, "arch", p->arch);
	json_string(j, "blas", p->blas);
	json_string(j, "shares", p->shares);
	put_words(j, "capabilities", p->caps, dev_cap_names, DEV_CAP_COUNT);
	put_words(j, "gemm_types", p->gemm_types, dev_type_names, DEV_TYPES);
	json_integer(j, "units", p->units);
	json_integer(j, "slots_per_unit", p->slots_per_unit);
	json_integer(j, "copy_engines", p->copy_engines);
	json_integer(j, "busy_blocks", p->busy_blocks);
	json_integer(j, "memory_bytes", p->memory_bytes);
	json_integer(j, "shared_per_unit_bytes", p->shared_per_unit_bytes);
	json_integer(j, "shared_per_block_bytes", p->shared_per_block_bytes);
	json_integer(j, "shared_reserved_bytes", p->shared_reserved_bytes);
	json_integer(j, "l1_bytes", p->l1_bytes);
	json_integer(j, "l2_bytes", p->l2_bytes);
	json_integer(j, "llc_bytes", p->llc_bytes);
	put_nominal(j, &p->nominal);
	json_bool(j, "virtual_time", bench_virtual(r));
	if (p->model[0])
		put_model(j, r, dev);
	bench_telemetry_write(j, &state, false);
	json_object_end(j);
}
