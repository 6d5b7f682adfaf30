/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/dev_telemetry_list.h"
#include "device/gpu/gpu_dev.h"
#include "device/gpu/gpu_numa.h"
#include "lib/clock.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

/* Exchanges between host and device in a calibration; the shortest one counts. */
#define EXCHANGES 24u
#define EXCHANGE_TIMEOUT_NS UINT64_C(5000000000)
/* A device that takes longer runs on this host's cores, or is busy; the host thread then yields. */
#define SPIN_NS UINT64_C(50000)
/* A calibration is valid for this long: timers drift by some ns per ms. On a busy host a new
 * calibration may have a much larger error; then the old one is used for longer. */
#define CALIBRATION_VALID_NS UINT64_C(250000000)
#define MAX_ERROR_RATIO 4.0
#define MAX_CALIBRATION_AGE_NS UINT64_C(5000000000)
/* The timer's rate is computed from two calibrations when their errors are at most this fraction
 * of the time between them. */
#define MAX_RATE_ERROR 20e-6
#define MAX_RATE_SPAN_NS UINT64_C(30000000000)
#define FIRST_RATE_SPAN_NS UINT64_C(20000000)
#define SAMPLE_NS 1e6

/* Guards the exchange memory of all devices. */
static pthread_mutex_t exchange_lock = PTHREAD_MUTEX_INITIALIZER;

struct exchange {
	uint32_t request;
	char request_padding[252];
	uint32_t reply;
	char reply_padding[252];
	uint64_t ticks[EXCHANGES];
	uint64_t sample[2];
};

static struct exchange *exchange_of(struct gpu_dev *d) { return d->clock_memory; }

static int launch_one_thread(struct gpu_dev *d, void *function, void **args)
{
	return gpu_check(d, d->driver->launch(d->internal_stream->handle, function, 1, 1, 0, args));
}

static int sync_internal_stream(struct gpu_dev *d)
{
	return gpu_check(d, d->driver->stream_sync(d->internal_stream->handle));
}

static double timer_hz(const struct gpu_dev *d)
{
	return d->clock.ns_per_tick > 0 ? 1e9 / d->clock.ns_per_tick
	       : d->traits.timer_hz > 0 ? d->traits.timer_hz
					: 1e9;
}

/* ------------------------------------------------------------------ calibration */

static bool wait_for_reply(const struct exchange *x, uint32_t round, uint64_t since_ns)
{
	while (__atomic_load_n(&x->reply, __ATOMIC_ACQUIRE) < round) {
		uint64_t took_ns = clock_ns() - since_ns;
		if (took_ns > EXCHANGE_TIMEOUT_NS)
			return false;
		if (took_ns > SPIN_NS)
			sched_yield();
	}
	return true;
}

/* The device reads its timer between request and reply: at the middle of the exchange, plus or
 * minus half of it. */
static bool exchange_clocks(struct gpu_dev *d, struct gpu_clock_map *seen_p, double *error_ns_p)
{
	struct exchange *x = exchange_of(d);
	uint64_t shortest = UINT64_MAX;
	for (uint32_t round = 1; round <= EXCHANGES; round++) {
		uint64_t asked_ns = clock_ns();
		__atomic_store_n(&x->request, round, __ATOMIC_RELEASE);
		if (!wait_for_reply(x, round, asked_ns))
			return false;
		uint64_t took_ns = clock_ns() - asked_ns;
		if (took_ns >= shortest)
			continue;
		shortest = took_ns;
		seen_p->tick = x->ticks[round - 1];
		seen_p->ns = asked_ns + took_ns / 2;
	}
	*error_ns_p = (double)shortest / 2;
	return true;
}

static int calibrate_clock(struct gpu_dev *d, struct gpu_clock_map *seen_p, double *error_ns_p)
{
	struct exchange *x = exchange_of(d);
	uint32_t *request = &x->request, *reply = &x->reply, rounds = EXCHANGES;
	uint64_t *ticks = x->ticks,
		 timeout = (uint64_t)(timer_hz(d) * 1e-9 * (double)EXCHANGE_TIMEOUT_NS);
	void *args[] = {&request, &reply, &ticks, &rounds, &timeout};
	x->request = x->reply = 0;
	int status = launch_one_thread(d, d->clock_sync, args);
	if (status)
		return status;
	bool seen = exchange_clocks(d, seen_p, error_ns_p);
	/* Ends the kernel if it still waits for requests. */
	__atomic_store_n(&x->request, EXCHANGES, __ATOMIC_RELEASE);
	status = sync_internal_stream(d);
	return status || seen ? status
			      : err_note(-ETIME, "%s:%u: the device's timer does not answer",
					 d->vendor->name, d->dev.index);
}

struct gpu_clock_map gpu_clock_map(struct gpu_dev *d)
{
	gpu_lock();
	struct gpu_clock_map map = d->clock;
	gpu_unlock();
	return map;
}

/* The rate since `older` where it is accurate enough, else the previous rate. */
static void set_rate(const struct gpu_dev *d, struct gpu_clock_map *now, double error_ns)
{
	double apart_ns = (double)(now->ns - d->older_clock.ns),
	       apart_ticks = (double)now->tick - (double)d->older_clock.tick;
	if (apart_ticks > 0 && error_ns + d->older_clock_error_ns < MAX_RATE_ERROR * apart_ns)
		now->ns_per_tick = apart_ns / apart_ticks;
}

static void adopt_calibration(struct gpu_dev *d, struct gpu_clock_map now, double error_ns)
{
	now.ns_per_tick = d->clock.ns_per_tick;
	if (error_ns > MAX_ERROR_RATIO * d->clock_error_ns &&
	    now.ns - d->clock.ns < MAX_CALIBRATION_AGE_NS)
		return;
	set_rate(d, &now, error_ns);
	gpu_lock();
	if (now.ns - d->older_clock.ns >= MAX_RATE_SPAN_NS) {
		d->older_clock = d->clock;
		d->older_clock_error_ns = d->clock_error_ns;
	}
	d->clock = now;
	d->clock_error_ns = error_ns;
	gpu_unlock();
}

void gpu_time_refresh(struct gpu_dev *d)
{
	struct gpu_clock_map seen = {0};
	double error_ns = 0;
	uint64_t last_ns = gpu_clock_map(d).ns;
	if (!last_ns || clock_ns() - last_ns < CALIBRATION_VALID_NS || !gpu_idle(d))
		return;
	/* Another thread is already recalibrating. */
	if (pthread_mutex_trylock(&exchange_lock))
		return;
	if (calibrate_clock(d, &seen, &error_ns) == 0)
		adopt_calibration(d, seen, error_ns);
	pthread_mutex_unlock(&exchange_lock);
}

/* If the driver does not report the timer's rate, two calibrations give it. */
static int first_rate(struct gpu_dev *d)
{
	struct gpu_clock_map first = d->clock, second = {0};
	double error_ns = 0;
	d->clock.ns_per_tick = d->traits.timer_hz > 0 ? 1e9 / d->traits.timer_hz : 0;
	if (d->traits.timer_hz > 0)
		return 0;
	while (clock_ns() - first.ns < FIRST_RATE_SPAN_NS)
		continue;
	int status = calibrate_clock(d, &second, &error_ns);
	if (!status && second.tick <= first.tick)
		status = err_note(-ETIME, "%s:%u: the device's timer does not advance",
				  d->vendor->name, d->dev.index);
	if (!status)
		d->clock.ns_per_tick =
			(double)(second.ns - first.ns) / (double)(second.tick - first.tick);
	return status;
}

int gpu_time_open(struct gpu_dev *d)
{
	int status =
		gpu_check(d, d->driver->alloc_pinned(sizeof(struct exchange), &d->clock_memory));
	if (status)
		return status;
	memset(d->clock_memory, 0, sizeof(struct exchange));
	status = calibrate_clock(d, &d->clock, &d->clock_error_ns);
	if (!status)
		status = first_rate(d);
	d->older_clock = d->clock;
	d->older_clock_error_ns = d->clock_error_ns;
	return status;
}

void gpu_time_close(struct gpu_dev *d)
{
	if (d->clock_memory)
		d->driver->free_pinned(d->clock_memory);
	d->clock_memory = NULL;
}

/* ------------------------------------------------------------------ clock rate and telemetry */

uint64_t gpu_clock_ns(struct dev *dev) { return clock_ns(); }

/* Runs a kernel that fills the sample. */
static int take_sample(struct gpu_dev *d, void *function, uint64_t duration, uint64_t sample[2])
{
	struct exchange *x = exchange_of(d);
	uint64_t *out = x->sample;
	void *args[] = {&out, &duration};
	pthread_mutex_lock(&exchange_lock);
	int status = gpu_ctx_use(d);
	if (!status)
		status = launch_one_thread(d, function, args);
	if (!status)
		status = sync_internal_stream(d);
	if (!status)
		memcpy(sample, x->sample, sizeof(x->sample));
	pthread_mutex_unlock(&exchange_lock);
	return status;
}

int gpu_clock_rate(struct dev *dev, double *hz_p)
{
	struct gpu_dev *d = gpu_of(dev);
	double ns_per_tick = gpu_clock_map(d).ns_per_tick;
	uint64_t sample[2];
	int status = take_sample(d, d->clock_sample, (uint64_t)(SAMPLE_NS / ns_per_tick), sample);
	if (status)
		return status;
	double cycles = (double)sample[0], ns = (double)sample[1] * ns_per_tick;
	if (!(ns > 0))
		return err_note(-ETIME, "%s:%u: the device's timer does not advance",
				d->vendor->name, dev->index);
	*hz_p = cycles / ns * 1e9;
	return 0;
}

static void append_timer(struct gpu_dev *d, struct dev_telemetry_list *r)
{
	uint64_t sample[2] = {0};
	int status = gpu_idle(d) ? take_sample(d, d->timer_step, 0, sample)
				 : err_note(-EBUSY, "the device is busy");
	if (status || sample[0] == 0)
		dev_telemetry_unknown(r, "timer_step", "s",
				      status ? err_text() : "the timer did not advance");
	else
		dev_telemetry_number(r, "timer_step", "s",
				     1e-9 * (double)sample[0] * gpu_clock_map(d).ns_per_tick);
	dev_telemetry_number(r, "timer_offset_error", "s", 1e-9 * d->clock_error_ns);
}

/* They say nothing about one slice: others draw power, heat the board and slow it down. All
 * slices have its clocks, and what lowers these. */
static void forget_samples_of_board(struct dev_telemetry_list *r)
{
	static const char *const names[] = {"uuid",     "power",        "power_limit", "energy",
					    "throttle", "thermal_time", "ecc_errors"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		dev_telemetry_forget(r, names[i],
				     "known only for the whole board, which others use, too");
}

int gpu_telemetry_read(struct dev *dev, struct dev_telemetry *samples, size_t *count_p)
{
	struct gpu_dev *d = gpu_of(dev);
	struct dev_telemetry_list r = {.samples = samples, .capacity = DEV_TELEMETRY_MAX};
	int node = gpu_numa_node(&d->traits);
	if (node >= 0)
		dev_telemetry_number(&r, "numa_node", "", node);
	else
		dev_telemetry_unknown(&r, "numa_node", "",
				      "the system reports no NUMA node for the device");
	if (d->far_why[0])
		dev_telemetry_unknown(&r, "pinned_memory_node", "", d->far_why);
	else if (d->far_node >= 0)
		dev_telemetry_number(&r, "pinned_memory_node", "", d->far_node);
	append_timer(d, &r);
	size_t management_count = 0;
	int status = d->vendor->management->read(d->traits.bus, samples + r.count,
						 DEV_TELEMETRY_MAX - r.count, &management_count);
	if (status)
		dev_telemetry_unknown(&r, "management", "", err_text());
	else
		r.count += management_count;
	if (d->traits.is_slice)
		forget_samples_of_board(&r);
	dev_telemetry_fill(&r, "uuid", d->traits.uuid);
	*count_p = r.count;
	return 0;
}
