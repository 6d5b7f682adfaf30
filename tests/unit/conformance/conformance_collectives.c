/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The vendor's collectives (device/dev_collectives.h).
 */
#include "tests/unit/conformance/conformance.h"

#define MAX_COUNT ((1u << 18) + 3u) /* floats of a part */
#define MAX_RANKS 8u

static struct {
	struct dev_comm *comm;
	struct dev_stream *stream[DEV_MAX];
	float *from[DEV_MAX], *to[DEV_MAX]; /* MAX_RANKS parts each */
	float *sent, *found;                /* on the host */
} here;

static size_t rank_count(void) { return on.set.count; }

static void open_communicator(void)
{
	const size_t bytes = MAX_RANKS * (MAX_COUNT + 1) * sizeof(float);
	if (rank_count() < 2 || !dev_can(on.d, DEV_CAP_COLLECTIVES))
		skip("no collectives");
	require(rank_count() <= MAX_RANKS);
	ok(dev_comm_find(&on.set, DEV_COMM_DEFAULT, &here.comm));
	here.sent = malloc(bytes);
	here.found = malloc(bytes);
	require(here.sent && here.found);
	for (size_t d = 0; d < rank_count(); d++) {
		struct dev *device = on.set.dev[d];
		void *from, *to;
		ok(dev_stream_open(device, dev_props(device)->priority_normal, &here.stream[d]));
		ok(dev_alloc(device, DEV_MEM_DEVICE, bytes, &from));
		ok(dev_alloc(device, DEV_MEM_DEVICE, bytes, &to));
		here.from[d] = from;
		here.to[d] = to;
	}
}

static void close_communicator(void)
{
	for (size_t d = 0; d < rank_count(); d++) {
		ok(dev_free(on.set.dev[d], here.from[d]));
		ok(dev_free(on.set.dev[d], here.to[d]));
		dev_stream_close(on.set.dev[d], here.stream[d]);
	}
	free(here.sent);
	free(here.found);
}

static void sync_all(void)
{
	for (size_t d = 0; d < rank_count(); d++)
		ok(dev_stream_sync(on.set.dev[d], here.stream[d]));
}

/* Integers: sums of up to 8 devices twice are exact in f32. */
static float sent_value(size_t device, uint64_t i) { return (float)((device + 1) * (i % 31) + 1); }

/* Value of device d after the collective, at float i of what it receives. */
static float received_value(enum dev_collective what, size_t d, uint64_t i, uint64_t count)
{
	float sum = 0;
	if (what == DEV_ALLGATHER)
		return sent_value(i / count, i % count);
	if (what == DEV_ALL_TO_ALL)
		return sent_value(i / count, d * count + i % count);
	for (size_t from = 0; from < rank_count(); from++)
		sum += sent_value(from, what == DEV_REDUCE_SCATTER ? d * count + i : i);
	return sum;
}

static void fill_sent(size_t device, float *at, uint64_t floats)
{
	for (uint64_t i = 0; i < floats; i++)
		here.sent[i] = sent_value(device, i);
	ok(dev_upload(on.set.dev[device], at, here.sent, floats * sizeof(float)));
}

/* Counts what is not received at `to`, and, with `from`, what is no longer there. */
static uint64_t count_wrong(enum dev_collective what, size_t device, const float *from,
			    const float *to, uint64_t count)
{
	const uint64_t sends = count * dev_collective_sends(what, rank_count()),
		       receives = count * dev_collective_receives(what, rank_count());
	uint64_t wrong = 0;
	ok(dev_download(on.set.dev[device], here.found, to, receives * sizeof(float)));
	for (uint64_t i = 0; i < receives; i++)
		wrong += !(here.found[i] == received_value(what, device, i, count));
	if (from)
		ok(dev_download(on.set.dev[device], here.found, from, sends * sizeof(float)));
	for (uint64_t i = 0; from && i < sends; i++)
		wrong += !(here.found[i] == sent_value(device, i));
	return wrong;
}

static const uint64_t counts[] = {1, 1000, 65536, MAX_COUNT};
#define COUNTS (sizeof(counts) / sizeof(counts[0]))

/* The float behind what is received stays. */
static void expect_collective(enum dev_collective what, uint64_t count)
{
	const uint64_t receives = count * dev_collective_receives(what, rank_count());
	const float guard = -77;
	for (size_t d = 0; d < rank_count(); d++) {
		fill_sent(d, here.from[d], count * dev_collective_sends(what, rank_count()));
		ok(dev_upload(on.set.dev[d], here.to[d] + receives, &guard, sizeof(guard)));
	}
	ok(dev_collective(here.comm, what, here.stream, here.from, here.to, count));
	sync_all();
	uint64_t wrong = 0;
	for (size_t d = 0; d < rank_count(); d++) {
		float behind = 0;
		wrong += count_wrong(what, d, here.from[d], here.to[d], count);
		ok(dev_download(on.set.dev[d], &behind, here.to[d] + receives, sizeof(behind)));
		wrong += !(behind == guard);
	}
	if (wrong)
		printf("# %s of %llu: %llu wrong\n", dev_collective_name(what),
		       (unsigned long long)count, (unsigned long long)wrong);
	expect(wrong == 0);
}

static void parts_arrive_where_they_belong(void)
{
	open_communicator();
	expect(here.comm->count == rank_count() && here.comm->library[0] != '\0');
	for (int repeat = 0; repeat < 2; repeat++)
		for (int what = 0; what < DEV_COLLECTIVES; what++)
			for (size_t i = 0; i < COUNTS; i++)
				expect_collective((enum dev_collective)what, counts[i]);
	close_communicator();
}

/* In the memory of `from`, or, where more is received than sent, of `to`. */
static void expect_in_place(enum dev_collective what, uint64_t count)
{
	float *from[DEV_MAX], *to[DEV_MAX];
	uint64_t wrong = 0;
	for (size_t d = 0; d < rank_count(); d++) {
		from[d] = what == DEV_ALLGATHER ? here.to[d] + d * count : here.from[d];
		to[d] = what == DEV_REDUCE_SCATTER ? from[d] + d * count
			: what == DEV_ALLGATHER    ? here.to[d]
						   : from[d];
		fill_sent(d, from[d], count * dev_collective_sends(what, rank_count()));
	}
	ok(dev_collective(here.comm, what, here.stream, from, to, count));
	sync_all();
	for (size_t d = 0; d < rank_count(); d++) {
		wrong += count_wrong(what, d, NULL, to[d], count);
		if (what != DEV_REDUCE_SCATTER)
			continue;
		/* The parts of the others keep their contents. */
		ok(dev_download(on.set.dev[d], here.found, from[d],
				rank_count() * count * sizeof(float)));
		for (uint64_t i = 0; i < rank_count() * count; i++)
			wrong += i / count != d && !(here.found[i] == sent_value(d, i));
	}
	expect(wrong == 0);
}

static void collectives_in_place(void)
{
	open_communicator();
	for (size_t i = 0; i < COUNTS; i++) {
		expect_in_place(DEV_ALLREDUCE, counts[i]);
		expect_in_place(DEV_ALLGATHER, counts[i]);
		expect_in_place(DEV_REDUCE_SCATTER, counts[i]);
	}
	close_communicator();
}

/* NaNs with a payload, and what is no number of f32. */
static uint32_t odd_bits(uint64_t i) { return 0x7f800001u + (uint32_t)i * 2654435761u; }

static uint64_t count_wrong_bits(enum dev_collective what, size_t device, uint64_t count)
{
	const uint32_t *found = (const uint32_t *)(const void *)here.found;
	const uint64_t first = what == DEV_ALL_TO_ALL ? device * count : 0;
	uint64_t wrong = 0;
	ok(dev_download(on.set.dev[device], here.found, here.to[device],
			rank_count() * count * sizeof(*found)));
	for (uint64_t i = 0; i < rank_count() * count; i++)
		wrong += found[i] != odd_bits(first + i % count);
	return wrong;
}

static void copies_keep_every_bit(void)
{
	static const enum dev_collective copies[] = {DEV_ALLGATHER, DEV_ALL_TO_ALL};
	const uint64_t count = 1000;
	open_communicator();
	uint32_t *bits = (uint32_t *)(void *)here.sent;
	for (uint64_t i = 0; i < rank_count() * count; i++)
		bits[i] = odd_bits(i);
	for (size_t d = 0; d < rank_count(); d++)
		ok(dev_upload(on.set.dev[d], here.from[d], bits,
			      rank_count() * count * sizeof(*bits)));
	for (size_t k = 0; k < 2; k++) {
		uint64_t wrong = 0;
		ok(dev_collective(here.comm, copies[k], here.stream, here.from, here.to, count));
		sync_all();
		for (size_t d = 0; d < rank_count(); d++)
			wrong += count_wrong_bits(copies[k], d, count);
		expect(wrong == 0);
	}
	close_communicator();
}

/* Each continues with what the one before gave; nobody waits in between. */
static void collectives_run_in_stream_order(void)
{
	const uint64_t count = 5000, p = rank_count();
	open_communicator();
	for (size_t d = 0; d < p; d++)
		fill_sent(d, here.from[d], p * count);
	float *part[DEV_MAX];
	for (size_t d = 0; d < p; d++)
		part[d] = here.to[d] + d * count;
	/* A reduce-scatter and an all-gather are an allreduce; its parts are exchanged. */
	ok(dev_collective(here.comm, DEV_REDUCE_SCATTER, here.stream, here.from, part, count));
	ok(dev_collective(here.comm, DEV_ALLGATHER, here.stream, part, here.to, count));
	ok(dev_collective(here.comm, DEV_ALL_TO_ALL, here.stream, here.to, here.from, count));
	sync_all();
	uint64_t wrong = 0;
	for (size_t d = 0; d < p; d++) {
		wrong += count_wrong(DEV_ALLREDUCE, d, NULL, here.to[d], p * count);
		ok(dev_download(on.set.dev[d], here.found, here.from[d],
				p * count * sizeof(float)));
		for (uint64_t i = 0; i < p * count; i++)
			wrong += !(here.found[i] ==
				   received_value(DEV_ALLREDUCE, 0, d * count + i % count, count));
	}
	expect(wrong == 0);
	close_communicator();
}

static void a_communicator_needs_devices_and_a_library(void)
{
	struct dev_comm *comm = NULL;
	if (rank_count() >= 2 && dev_can(on.d, DEV_CAP_COLLECTIVES))
		skip("there is a library");
	for (int again = 0; again < 2; again++)
		expect_error(dev_comm_find(&on.set, DEV_COMM_DEFAULT, &comm),
			     rank_count() < 2 ? -ENODEV : -ENOTSUP);
	expect(comm == NULL);
}

static void nothing_and_unknown_collectives_are_refused(void)
{
	open_communicator();
	for (int what = 0; what < DEV_COLLECTIVES; what++)
		expect_error(dev_collective(here.comm, (enum dev_collective)what, here.stream,
					    here.from, here.to, 0),
			     -EINVAL);
	expect_error(dev_collective(here.comm, DEV_COLLECTIVES, here.stream, here.from, here.to, 8),
		     -EINVAL);
	expect_str(dev_collective_name(DEV_COLLECTIVES), "?");
	expect_collective(DEV_ALL_TO_ALL, 64); /* and the communicator still works */
	close_communicator();
}

/* The size of a part and the number of parts decide what is in an allocation. */
static void memory_of_collectives_is_checked(void)
{
	const uint64_t all = MAX_RANKS * (MAX_COUNT + 1);
	need_checks();
	open_communicator();
	for (int i = 0; i < DEV_COLLECTIVES; i++) {
		const enum dev_collective what = (enum dev_collective)i;
		const size_t sends = dev_collective_sends(what, rank_count()),
			     receives = dev_collective_receives(what, rank_count()),
			     most = sends > receives ? sends : receives;
		expect_error(dev_collective(here.comm, what, here.stream, here.from, here.to,
					    all / most + 1),
			     -EFAULT);
		/* More bytes than 64 bits can count. */
		expect(dev_collective(here.comm, what, here.stream, here.from, here.to,
				      UINT64_MAX / 2) < 0);
	}
	close_communicator();
}

static void overlap_that_is_not_in_place_is_refused(void)
{
	const uint64_t count = 1000;
	need_checks();
	open_communicator();
	for (int what = 0; what < DEV_COLLECTIVES; what++) {
		float *to[DEV_MAX];
		for (size_t d = 0; d < rank_count(); d++)
			to[d] = here.from[d] + 8;
		expect_error(dev_collective(here.comm, (enum dev_collective)what, here.stream,
					    here.from, to, count),
			     -EINVAL);
	}
	/* Device 1 has part 1; part 0 is not in place there. */
	expect_error(dev_collective(here.comm, DEV_ALLGATHER, here.stream, here.to, here.to, count),
		     -EINVAL);
	expect_error(dev_collective(here.comm, DEV_REDUCE_SCATTER, here.stream, here.from,
				    here.from, count),
		     -EINVAL);
	expect_error(
		dev_collective(here.comm, DEV_ALL_TO_ALL, here.stream, here.from, here.from, count),
		-EINVAL);
	close_communicator();
}

static void a_set_has_one_communicator(void)
{
	struct dev_comm *again = NULL;
	open_communicator();
	ok(dev_comm_find(&on.set, DEV_COMM_DEFAULT, &again));
	expect(again == here.comm);
	expect_collective(DEV_ALLGATHER, 64);
	close_communicator();
}

/* Enqueues it behind values that the host writes afterwards; it must not wait for them. */
static void expect_behind_values(enum dev_collective what, uint64_t count)
{
	uint32_t *value[DEV_MAX];
	struct dev_event *end[DEV_MAX];
	uint64_t wrong = 0;
	for (size_t d = 0; d < rank_count(); d++) {
		void *at;
		ok(dev_alloc(on.set.dev[d], DEV_MEM_PINNED, sizeof(*value[d]), &at));
		ok(dev_event_open(on.set.dev[d], &end[d]));
		value[d] = at;
		*value[d] = 0;
		fill_sent(d, here.from[d], count * dev_collective_sends(what, rank_count()));
		ok(dev_wait_value(on.set.dev[d], here.stream[d], value[d], 1));
	}
	ok(dev_collective(here.comm, what, here.stream, here.from, here.to, count));
	for (size_t d = 0; d < rank_count(); d++) {
		ok(dev_event_record(on.set.dev[d], here.stream[d], end[d]));
		expect(dev_event_query(on.set.dev[d], end[d]) == -EAGAIN);
	}
	for (size_t d = 0; d < rank_count(); d++)
		ok(dev_post_value(on.set.dev[d], value[d], 1));
	sync_all();
	for (size_t d = 0; d < rank_count(); d++) {
		wrong += count_wrong(what, d, here.from[d], here.to[d], count);
		dev_event_close(on.set.dev[d], end[d]);
		ok(dev_free(on.set.dev[d], value[d]));
	}
	expect(wrong == 0);
}

/* The first of a kind and size may wait for the device, the next one not. */
static void a_collective_that_ran_before_waits_for_nothing(void)
{
	open_communicator();
	if (!dev_can(on.d, DEV_CAP_WAIT_VALUE))
		skip("streams that wait for values");
	for (int what = 0; what < DEV_COLLECTIVES; what++)
		for (size_t i = 0; i < COUNTS; i++) {
			expect_collective((enum dev_collective)what, counts[i]);
			expect_behind_values((enum dev_collective)what, counts[i]);
		}
	close_communicator();
}

static void swap_memory(float **mine, void **others)
{
	for (size_t d = 0; d < rank_count(); d++) {
		float *kept = mine[d];
		mine[d] = others[d];
		others[d] = kept;
	}
}

static void expect_all_collectives(void)
{
	for (int what = 0; what < DEV_COLLECTIVES; what++)
		for (size_t i = 0; i < COUNTS; i++) {
			expect_collective((enum dev_collective)what, counts[i]);
			if (what != DEV_ALL_TO_ALL)
				expect_in_place((enum dev_collective)what, counts[i]);
		}
}

/* In other memory, in the communicator's, and from one to the other. */
static void expect_policy_works(struct dev_comm *comm)
{
	const size_t bytes = MAX_RANKS * (MAX_COUNT + 1) * sizeof(float);
	struct dev_comm *const of_default = here.comm;
	void *from[DEV_MAX], *to[DEV_MAX];
	ok(dev_comm_alloc(comm, bytes, from));
	ok(dev_comm_alloc(comm, bytes, to));
	here.comm = comm;
	expect_all_collectives();
	swap_memory(here.to, to);
	expect_all_collectives();
	swap_memory(here.from, from);
	expect_all_collectives();
	swap_memory(here.from, from);
	swap_memory(here.to, to);
	here.comm = of_default;
	ok(dev_comm_free(comm, from));
	ok(dev_comm_free(comm, to));
}

/* A policy that the library lacks is refused each time in the same words. */
static void every_policy_works_or_is_refused(void)
{
	open_communicator();
	for (int i = 0; i < DEV_COMM_POLICIES; i++) {
		const enum dev_comm_policy policy = (enum dev_comm_policy)i;
		struct dev_comm *comm = NULL, *again = NULL;
		const int status = dev_comm_find(&on.set, policy, &comm);
		expect(status == 0 || (status == -ENOTSUP && policy != DEV_COMM_DEFAULT));
		expect(dev_comm_find(&on.set, policy, &again) == status && again == comm);
		if (status)
			continue;
		expect(comm->policy == policy && comm->count == rank_count());
		expect((comm == here.comm) == (policy == DEV_COMM_DEFAULT));
		expect_policy_works(comm);
	}
	close_communicator();
}

static void memory_of_a_communicator_is_freed_by_it(void)
{
	void *memory[DEV_MAX], *others[DEV_MAX] = {NULL};
	open_communicator();
	for (int i = 0; i < DEV_COMM_POLICIES; i++) {
		struct dev_comm *comm = NULL;
		if (dev_comm_find(&on.set, (enum dev_comm_policy)i, &comm))
			continue;
		expect_error(dev_comm_alloc(comm, 0, memory), -EINVAL);
		expect_error(dev_comm_alloc(comm, UINT64_MAX / 4, memory), -ENOMEM);
		ok(dev_comm_alloc(comm, 1000, memory));
		memcpy(others, memory, sizeof(others[0]) * rank_count());
		others[rank_count() - 1] = here.to[rank_count() - 1];
		expect_error(dev_comm_free(comm, others), -EFAULT);
		expect_error(dev_free(on.d, memory[0]), -EFAULT);
		ok(dev_comm_free(comm, memory));
		expect_error(dev_comm_free(comm, memory), -EFAULT);
		ok(dev_comm_alloc(comm, 1000, memory)); /* which the set frees */
	}
	close_communicator();
}

static void streams_of_collectives_are_checked(void)
{
	need_checks();
	open_communicator();
	struct dev_stream *swapped[DEV_MAX];
	for (size_t d = 0; d < rank_count(); d++)
		swapped[d] = here.stream[(d + 1) % rank_count()];
	expect_error(dev_collective(here.comm, DEV_ALL_TO_ALL, swapped, here.from, here.to, 64),
		     -EINVAL);
	ok(dev_collective(here.comm, DEV_ALL_TO_ALL, here.stream, here.from, here.to, 64));
	sync_all();
	close_communicator();
}

int main(int argc, char **argv)
{
	static const struct rule rules[] = {
		RULE(a_communicator_needs_devices_and_a_library),
		RULE(parts_arrive_where_they_belong),
		RULE(collectives_in_place),
		RULE(copies_keep_every_bit),
		RULE(collectives_run_in_stream_order),
		RULE(nothing_and_unknown_collectives_are_refused),
		RULE(memory_of_collectives_is_checked),
		RULE(overlap_that_is_not_in_place_is_refused),
		RULE(a_set_has_one_communicator),
		RULE(a_collective_that_ran_before_waits_for_nothing),
		RULE(every_policy_works_or_is_refused),
		RULE(memory_of_a_communicator_is_freed_by_it),
		RULE(streams_of_collectives_are_checked),
	};
	return run_specs(argc, argv, rules, sizeof(rules) / sizeof(rules[0]));
}
