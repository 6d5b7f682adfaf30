/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What does reading a checkpoint at full rate take from GEMMs and from copies to the device, and
 * they from it? This is no storage benchmark: the rate of reads is the condition under which the
 * rest is measured, and it is recorded.
 *
 * A file of the program's own, which has no name and is gone with the process, is read in chunks by
 * some threads, directly (O_DIRECT) into pinned memory, from where a loader would copy it on. With
 * --into device the device reads it into its own memory, which needs a driver that can (GPUDirect
 * Storage). Each is measured alone and concurrent with the other, in turns inside every case.
 *
 * Timed: of GEMMs and copies pieces in a row, by events on the device; of reads as many chunks as
 * take as long, from the begin of the first to the end of the last, by the host's clock.
 *
 *     bin/micro/storage --device cuda --folder /scratch --readers 4,16
 *     bin/micro/storage --device 'sim:h100?storage_bandwidth=12e9'
 */
#include "lib/err.h"
#include "micro/contention/workload.h"
#include "micro/storage/reader.h"

#define SAMPLE_S 0.01

enum { PINNED, DEVICE };
static const char *const targets[] = {[PINNED] = "pinned", [DEVICE] = "device", NULL};

static const struct axis axes[] = {
	{"into", "memory that is read into: of the host, or by the device into its own", AXIS_WORD,
	 .words = targets, .quick = "pinned", .full = "pinned,device"},
	BENCH_GEMM_TYPES(.quick = "main"),
	{"readers", "threads that read at once, or streams of the device", AXIS_COUNT, .quick = "8",
	 .simulated = "4", .min = 1, .max = READERS_MOST},
	{"chunk", "bytes of one read", AXIS_SIZE, .quick = "1M", .simulated = "256K",
	 .min = 64 << 10, .max = UINT64_C(1) << 30, .multiple = 64 << 10},
	{"file", "bytes of the file, a multiple of the chunk's", AXIS_SIZE, .quick = "128M",
	 .simulated = "4M", .min = 64 << 10, .multiple = 64 << 10},
	{"folder", "where the file is created; the file system is what is read", AXIS_WORD,
	 .accept = storage_folder_accept, .quick = "."},
	{0}};

enum { GEMM, COPY, WORKLOADS };
enum { READ, ALONE, WITH_READ, READ_WITH, ROWS = 3 }; /* read; of each workload three rows */

struct state {
	struct workload work[WORKLOADS];
	struct reader reader;
	struct reader_meanwhile meanwhile[WORKLOADS];
	uint64_t pieces[WORKLOADS], samples[WORKLOADS]; /* that ended while reads were measured */
};

static struct reader_spec reader_of(const struct bench_case *c)
{
	return (struct reader_spec){.into_device = axis_index(c, "into") == DEVICE,
				    .readers = (unsigned)axis_u64(c, "readers"),
				    .chunk_bytes = axis_u64(c, "chunk"),
				    .file_bytes = axis_u64(c, "file"),
				    .folder = axis_str(c, "folder")};
}

static struct workload_spec work_of(const struct bench_case *c, unsigned work)
{
	static const enum workload_kind kinds[] = {
		[GEMM] = WORKLOAD_GEMM, [COPY] = WORKLOAD_ENGINE};
	return (struct workload_spec){.kind = kinds[work],
				      .type = (enum dev_type)axis_index(c, "type"),
				      .direction = WORKLOAD_UP};
}

static int admit(const struct bench_case *c)
{
	const struct reader_spec spec = reader_of(c);
	return reader_admit(c, &spec);
}

/* ------------------------------------------------------------------ GEMM and copy */

/* Pieces in a row, as long as an iteration of reads takes, so that reads end meanwhile. */
static uint64_t pieces_of(const struct bench_case *c, const struct workload *a)
{
	return workload_pieces(a, ((const struct state *)c->state)->reader.chunks_s);
}

static int work_alone(struct bench_case *c, long work, uint64_t iterations)
{
	struct workload *a = &((struct state *)c->state)->work[work];
	workload_enqueue(a, c, iterations * pieces_of(c, a));
	return workload_drain(a, c, &c->self_seconds);
}

static int work_with_read(struct bench_case *c, long work, uint64_t iterations)
{
	struct state *s = c->state;
	struct workload *a = &s->work[work];
	reader_begin(&s->reader, c);
	workload_enqueue(a, c, iterations * pieces_of(c, a));
	reader_keep(&s->reader, c, a->end);
	workload_drain(a, c, &c->self_seconds);
	return reader_end(&s->reader, c, &s->meanwhile[work]);
}

static void model_work(const struct bench_case *c, long work, struct bench_model *m)
{
	const struct workload *a = &((const struct state *)c->state)->work[work];
	workload_model(a, c, m);
	m->bytes *= (double)pieces_of(c, a);
	m->flops *= (double)pieces_of(c, a);
}

static int poison_work(struct bench_case *c, long work)
{
	return workload_poison(&((const struct state *)c->state)->work[work], c);
}

static int check_work(struct bench_case *c, long work)
{
	return workload_check(&((const struct state *)c->state)->work[work], c);
}

/* ------------------------------------------------------------------ reads */

static int read_alone(struct bench_case *c, long arg, uint64_t iterations)
{
	struct state *s = c->state;
	reader_start(&s->reader, c, iterations * s->reader.chunks);
	return reader_finish(&s->reader, c, &c->self_seconds);
}

static int read_with_work(struct bench_case *c, long work, uint64_t iterations)
{
	struct state *s = c->state;
	struct workload *a = &s->work[work];
	workload_start(a, c);
	TRY(c->status, dev_event_sync(c->dev, a->begin));
	reader_start(&s->reader, c, iterations * s->reader.chunks);
	while (c->status == 0 && reader_is_busy(&s->reader, c)) {
		workload_follow(a, c);
		s->pieces[work]++;
	}
	s->samples[work]++;
	const int drained = dev_stream_sync(c->dev, a->stream);
	reader_finish(&s->reader, c, &c->self_seconds);
	return TRY(c->status, drained);
}

static void model_read(const struct bench_case *c, long arg, struct bench_model *m)
{
	const struct state *s = c->state;
	m->bytes = (double)s->reader.chunks * (double)s->reader.file.chunk_bytes;
}

static int poison_read(struct bench_case *c, long arg)
{
	return reader_poison(&((const struct state *)c->state)->reader, c);
}

static int check_read(struct bench_case *c, long arg)
{
	return reader_check(&((const struct state *)c->state)->reader, c);
}

static int poison_both(struct bench_case *c, long work)
{
	TRY(c->status, poison_work(c, work));
	return TRY(c->status, poison_read(c, work));
}

static int check_both(struct bench_case *c, long work)
{
	const int status = check_work(c, work);
	return status ? status : check_read(c, work);
}

#define BOTH .poison = poison_both, .check = check_both
#define OF_READS .timing = BENCH_SELF, .model = model_read
static const struct bench_variant variants[] = {
	{"read", OF_READS, .body = read_alone, .poison = poison_read, .check = check_read},
	{"gemm", BENCH_SELF, GEMM, .body = work_alone},
	{"gemm_with_read", BENCH_SELF, GEMM, .body = work_with_read, BOTH},
	{"read_with_gemm", OF_READS, .arg = GEMM, .body = read_with_work, BOTH},
	{"copy", BENCH_SELF, COPY, .body = work_alone},
	{"copy_with_read", BENCH_SELF, COPY, .body = work_with_read, BOTH},
	{"read_with_copy", OF_READS, .arg = COPY, .body = read_with_work, BOTH},
	{0}};

#define TIME_RATIO(variant, alone)                                                                 \
	{                                                                                          \
		"CIL", BENCH_RATIO, (variant), (alone),                                            \
			"time concurrent with the other / time alone, round by round"              \
	}
static const struct bench_quantity_row quantities[] = {TIME_RATIO("gemm_with_read", "gemm"),
						       TIME_RATIO("read_with_gemm", "read"),
						       TIME_RATIO("copy_with_read", "copy"),
						       TIME_RATIO("read_with_copy", "read"),
						       {0}};

static const struct bench_metric primary[] = {
	{"cil_gemm_with_storage_read", "CIL", "gemm_with_read", "into=pinned"},
	{"cil_copy_with_storage_read", "CIL", "copy_with_read", "into=pinned"},
	{0}};

/* ------------------------------------------------------------------ a case */

static int setup(struct bench_case *c)
{
	const struct reader_spec reader = reader_of(c);
	struct state *s = c->state;
	struct work_lanes *lanes = bench_lanes(c);
	reader_open(&s->reader, c, &reader);
	for (unsigned i = 0; c->status == 0 && i < WORKLOADS; i++) {
		const struct workload_spec spec = work_of(c, i);
		const uint64_t uses = UINT64_C(7) << (ALONE + ROWS * i);
		if (workload_admit(c, &spec))
			TRY(c->status, bench_variants_skip(c, uses, err_text()));
		else
			workload_open(&s->work[i], c, lanes, &spec);
	}
	return reader_size(&s->reader, c, dev_can(c->dev, DEV_CAP_VIRTUAL_TIME) ? 0.0 : SAMPLE_S);
}

static int verify_mechanism(struct bench_case *c)
{
	const struct state *s = c->state;
	for (unsigned i = 0; i < WORKLOADS; i++) {
		const struct reader_meanwhile *m = &s->meanwhile[i];
		const unsigned with = WITH_READ + ROWS * i, read = READ_WITH + ROWS * i;
		if (m->samples)
			bench_mechanism_of(
				c, UINT64_C(1) << with, "reads_end_meanwhile",
				m->reads >= m->samples, "%llu reads ended in %llu samples",
				(unsigned long long)m->reads, (unsigned long long)m->samples);
		if (s->samples[i])
			bench_mechanism_of(c, UINT64_C(1) << read, "pieces_end_meanwhile",
					   s->pieces[i] >= s->samples[i],
					   "%llu pieces ended in %llu samples",
					   (unsigned long long)s->pieces[i],
					   (unsigned long long)s->samples[i]);
	}
	return storage_file_verify(&s->reader.file, c);
}

static int derive(struct bench_case *c)
{
	const struct state *s = c->state;
	const char *why = dev_lack_reason(c->dev, DEV_CAP_FILE_READ_BIT);
	for (unsigned i = 0; i < WORKLOADS; i++) {
		const struct reader_meanwhile *m = &s->meanwhile[i];
		if (m->samples)
			bench_value(
				c, "read_bandwidth", (int)(WITH_READ + ROWS * i),
				(double)m->reads * (double)s->reader.file.chunk_bytes / m->seconds,
				"byte/s", "bytes of reads that ended in the samples / their time");
	}
	if (s->reader.file.where[0])
		bench_fact_text(c, "file_system", s->reader.file.where);
	if (!dev_can(c->dev, DEV_CAP_FILE_READ))
		bench_fact_format(c, "device_reads_files", "no%s%s", why[0] ? ": " : "", why);
	else if (s->reader.by.file.how[0])
		bench_fact_format(c, "device_reads_files", "by %s", s->reader.by.file.how);
	return c->status;
}

static void teardown(struct bench_case *c) { reader_close(&((struct state *)c->state)->reader, c); }

static const struct bench bench = {
	.name = "micro/storage",
	.question = "what does reading storage at full rate take from GEMMs and copies?",
	.formula = "CIL = time concurrent with the other / time alone; 1 is no loss",
	.timed =
		"GEMMs and copies in a row for 10 ms, by device events; reads of some chunks, from "
		"the begin of the first to the end of the last, by the host's clock",
	.limits = "drives and hypervisors may answer from caches of their own; on a host device "
		  "the threads that read share the cores with the GEMM",
	.needs = DEV_CAP_WAIT_VALUE,
	.wants = DEV_CAP_GEMM | DEV_CAP_COPY_ENGINE | DEV_CAP_FILE_READ,
	.axes = axes,
	.variants = variants,
	.quantities = quantities,
	.primary = primary,
	.state_bytes = sizeof(struct state),
	.admit = admit,
	.setup = setup,
	.model = model_work,
	.poison = poison_work,
	.check = check_work,
	.verify_mechanism = verify_mechanism,
	.derive = derive,
	.teardown = teardown,
};

int main(int argc, char **argv) { return bench_main(&bench, argc, argv); }
