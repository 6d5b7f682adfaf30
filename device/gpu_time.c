/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu_dev.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "device/gpu_place.h"
#include "device/gpu_reading.h"
#include "lib/clock.h"

/* Questions and answers between host and device; the quickest exchange counts. */
#define ROUNDS 24u
#define PATIENCE_NS UINT64_C(5000000000)
/* A device that takes longer is one that runs on this host's cores, or is busy: others may have ours. */
#define PROMPT_NS UINT64_C(50000)
/* A calibration is good for this long: timers drift by some ns in a ms. On a host that is busy with other things a new one may
 * be worse by far; then the old one is kept for longer. */
#define FRESH_NS UINT64_C(250000000)
#define WORSE_BY 4.0
#define WORSE_KEPT_NS UINT64_C(5000000000)
/* The rate is taken between two calibrations if what they may be wrong by is this little of the time between them. */
#define RATE_ERROR 20e-6
#define RATE_MOST_NS UINT64_C(30000000000)
#define FIRST_RATE_NS UINT64_C(20000000)
#define SAMPLE_NS 1e6

/* One at a time uses a device's exchange. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

struct exchange {
	uint32_t ask;
	char apart[252];
	uint32_t answer;
	char apart_again[252];
	uint64_t ticks[ROUNDS];
	uint64_t sample[2];
};

static struct exchange *exchange_of(struct gpu_dev *d) { return d->clock_memory; }

static int run(struct gpu_dev *d, void *function, void **args)
{
	return gpu_answer(d, d->driver->launch(d->own->handle, function, 1, d->traits.warp_threads, 0, args));
}

static int finish(struct gpu_dev *d) { return gpu_answer(d, d->driver->stream_sync(d->own->handle)); }

static double timer_hz(const struct gpu_dev *d)
{
	return d->clock.ns_per_tick > 0 ? 1e9 / d->clock.ns_per_tick : d->traits.timer_hz > 0 ? d->traits.timer_hz : 1e9;
}

/* ------------------------------------------------------------------ both clocks at once */

static bool answered(const struct exchange *x, uint32_t round, uint64_t since_ns)
{
	while (__atomic_load_n(&x->answer, __ATOMIC_ACQUIRE) < round) {
		uint64_t took = clock_ns() - since_ns;
		if (took > PATIENCE_NS)
			return false;
		if (took > PROMPT_NS)
			sched_yield();
	}
	return true;
}

/* The device's timer is read between question and answer: at the middle, give or take half of the exchange. */
static bool look(struct gpu_dev *d, struct gpu_clock_map *seen_p, double *error_ns_p)
{
	struct exchange *x = exchange_of(d);
	uint64_t shortest = UINT64_MAX;
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint64_t asked = clock_ns();
		__atomic_store_n(&x->ask, round, __ATOMIC_RELEASE);
		if (!answered(x, round, asked))
			return false;
		uint64_t took = clock_ns() - asked;
		if (took >= shortest)
			continue;
		shortest = took;
		seen_p->tick = x->ticks[round - 1];
		seen_p->ns = asked + took / 2;
	}
	*error_ns_p = (double)shortest / 2;
	return true;
}

static int calibrate(struct gpu_dev *d, struct gpu_clock_map *seen_p, double *error_ns_p)
{
	struct exchange *x = exchange_of(d);
	uint32_t *ask = &x->ask, *answer = &x->answer, rounds = ROUNDS;
	uint64_t *ticks = x->ticks, timeout = (uint64_t)(timer_hz(d) * 1e-9 * (double)PATIENCE_NS);
	void *args[] = {&ask, &answer, &ticks, &rounds, &timeout};
	x->ask = x->answer = 0;
	int rc = run(d, d->clock_sync, args);
	if (rc)
		return rc;
	bool seen = look(d, seen_p, error_ns_p);
	/* Whatever it waits for, it need not. */
	__atomic_store_n(&x->ask, ROUNDS, __ATOMIC_RELEASE);
	rc = finish(d);
	return rc || seen ? rc : err_note(-ETIME, "%s:%u: the device's timer does not answer", d->vendor->name, d->dev.index);
}

struct gpu_clock_map gpu_clock_map(struct gpu_dev *d)
{
	gpu_lock();
	struct gpu_clock_map map = d->clock;
	gpu_unlock();
	return map;
}

/* The rate since `older`, where it is known well enough; else what it was. */
static void set_rate(const struct gpu_dev *d, struct gpu_clock_map *now, double error_ns)
{
	double apart_ns = (double)(now->ns - d->older.ns), apart_ticks = (double)now->tick - (double)d->older.tick;
	if (apart_ticks > 0 && error_ns + d->older_error_ns < RATE_ERROR * apart_ns)
		now->ns_per_tick = apart_ns / apart_ticks;
}

static void adopt(struct gpu_dev *d, struct gpu_clock_map now, double error_ns)
{
	now.ns_per_tick = d->clock.ns_per_tick;
	if (error_ns > WORSE_BY * d->clock_error_ns && now.ns - d->clock.ns < WORSE_KEPT_NS)
		return;
	set_rate(d, &now, error_ns);
	gpu_lock();
	if (now.ns - d->older.ns >= RATE_MOST_NS) {
		d->older = d->clock;
		d->older_error_ns = d->clock_error_ns;
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
	if (!last_ns || clock_ns() - last_ns < FRESH_NS || !gpu_idle(d))
		return;
	/* Who asks already will have an answer as fresh. */
	if (pthread_mutex_trylock(&asking))
		return;
	if (calibrate(d, &seen, &error_ns) == 0)
		adopt(d, seen, error_ns);
	pthread_mutex_unlock(&asking);
}

/* Where the driver does not say how fast the timer is, two looks do. */
static int first_rate(struct gpu_dev *d)
{
	struct gpu_clock_map first = d->clock, second = {0};
	double error_ns = 0;
	d->clock.ns_per_tick = d->traits.timer_hz > 0 ? 1e9 / d->traits.timer_hz : 0;
	if (d->traits.timer_hz > 0)
		return 0;
	while (clock_ns() - first.ns < FIRST_RATE_NS)
		continue;
	int rc = calibrate(d, &second, &error_ns);
	if (!rc && second.tick <= first.tick)
		rc = err_note(-ETIME, "%s:%u: the device's timer stands still", d->vendor->name, d->dev.index);
	if (!rc)
		d->clock.ns_per_tick = (double)(second.ns - first.ns) / (double)(second.tick - first.tick);
	return rc;
}

int gpu_time_open(struct gpu_dev *d)
{
	int rc = gpu_answer(d, d->driver->alloc_pinned(sizeof(struct exchange), &d->clock_memory));
	if (rc)
		return rc;
	memset(d->clock_memory, 0, sizeof(struct exchange));
	rc = calibrate(d, &d->clock, &d->clock_error_ns);
	if (!rc)
		rc = first_rate(d);
	d->older = d->clock;
	d->older_error_ns = d->clock_error_ns;
	return rc;
}

void gpu_time_close(struct gpu_dev *d)
{
	if (d->clock_memory)
		d->driver->free_pinned(d->clock_memory);
	d->clock_memory = NULL;
}

/* ------------------------------------------------------------------ what others ask */

uint64_t gpu_clock_ns(struct dev *dev)
{
	(void)dev;
	return clock_ns();
}

/* Run a kernel that fills the sample. */
static int take_sample(struct gpu_dev *d, void *function, uint64_t duration, uint64_t sample[2])
{
	struct exchange *x = exchange_of(d);
	uint64_t *out = x->sample;
	void *args[] = {&out, &duration};
	pthread_mutex_lock(&asking);
	int rc = gpu_enter(d);
	if (!rc)
		rc = run(d, function, args);
	if (!rc)
		rc = finish(d);
	if (!rc)
		memcpy(sample, x->sample, sizeof(x->sample));
	pthread_mutex_unlock(&asking);
	return rc;
}

int gpu_clock_rate(struct dev *dev, double *hz_p)
{
	struct gpu_dev *d = gpu_of(dev);
	double ns_per_tick = gpu_clock_map(d).ns_per_tick;
	uint64_t sample[2];
	int rc = take_sample(d, d->clock_sample, (uint64_t)(SAMPLE_NS / ns_per_tick), sample);
	if (rc)
		return rc;
	double cycles = (double)sample[0], ns = (double)sample[1] * ns_per_tick;
	if (!(ns > 0))
		return err_note(-ETIME, "%s:%u: the device's timer stands still", d->vendor->name, dev->index);
	*hz_p = cycles / ns * 1e9;
	return 0;
}

static void read_timer(struct gpu_dev *d, struct gpu_readings *r)
{
	uint64_t sample[2] = {0};
	int rc = gpu_idle(d) ? take_sample(d, d->timer_step, 0, sample) : err_note(-EBUSY, "the device is busy");
	if (rc || sample[0] == 0)
		gpu_reading_unknown(r, "timer_step", "s", rc ? err_text() : "the timer did not move");
	else
		gpu_reading_number(r, "timer_step", "s", 1e-9 * (double)sample[0] * gpu_clock_map(d).ns_per_tick);
	gpu_reading_number(r, "timer_offset_error", "s", 1e-9 * d->clock_error_ns);
}

int gpu_read_state(struct dev *dev, struct dev_reading *readings, size_t *count_p)
{
	struct gpu_dev *d = gpu_of(dev);
	struct gpu_readings r = {.at = readings, .room = DEV_READINGS};
	int node = gpu_place_node(&d->traits);
	if (node >= 0)
		gpu_reading_number(&r, "numa_node", "", node);
	else
		gpu_reading_unknown(&r, "numa_node", "", "the system names no memory node for the device");
	read_timer(d, &r);
	size_t managed = 0;
	int rc = d->vendor->manager->read(d->traits.bus, readings + r.count, DEV_READINGS - r.count, &managed);
	if (rc)
		gpu_reading_unknown(&r, "management", "", err_text());
	else
		r.count += managed;
	*count_p = r.count;
	return 0;
}
