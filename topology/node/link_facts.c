/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/node/link_facts.h"
#include "lib/err.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A link that idled is retrained within some milliseconds. */
#define COPY_BYTES (UINT64_C(16) << 20)
#define COPIES_A_READ 2
#define MAX_READS 40

/* ---------------------------------------------------------------- reading */

static const struct dev_link *find_pcie(const struct dev_links *links)
{
	for (size_t i = 0; i < links->count; i++)
		if (strcmp(links->link[i].kind, "PCIe") == 0 && links->link[i].state == DEV_LINK_UP)
			return &links->link[i];
	return NULL;
}

static bool is_below_maximum(const struct dev_links *links)
{
	const struct dev_link *pcie = find_pcie(links);
	return pcie && ((pcie->generation && pcie->generation < pcie->generation_max) ||
			(pcie->lanes && pcie->lanes < pcie->lanes_max));
}

struct traffic {
	void *host, *memory;
	struct dev_stream *stream;
};

static int open_traffic(struct dev *d, struct traffic *t)
{
	int status = 0;
	TRY(status, dev_alloc(d, DEV_MEM_PINNED, COPY_BYTES, &t->host));
	TRY(status, dev_alloc(d, DEV_MEM_DEVICE, COPY_BYTES, &t->memory));
	return TRY(status, dev_stream_open(d, dev_props(d)->priority_normal, &t->stream));
}

static int read_while_copying(struct dev *d, struct traffic *t, struct device_links *links)
{
	int status = 0;
	for (int i = 0; i < MAX_READS && status == 0 && is_below_maximum(&links->links); i++) {
		for (int copy = 0; copy < COPIES_A_READ; copy++)
			TRY(status, dev_copy(d, t->stream, t->memory, t->host, COPY_BYTES));
		TRY(status, dev_links_read(d, &links->links));
		const int drained = dev_stream_sync(d, t->stream);
		TRY(status, drained);
	}
	links->busy = status == 0;
	return status;
}

static void write_brief(struct device_links *links)
{
	const struct dev_link *pcie = find_pcie(&links->links);
	const char *kind = "";
	char *const brief = links->brief;
	size_t up = 0;
	for (size_t i = 0; i < links->links.count; i++) {
		const struct dev_link *link = &links->links.link[i];
		if (link == pcie || link->state != DEV_LINK_UP)
			continue;
		kind = link->kind;
		up++;
	}
	const bool known = pcie && pcie->generation && pcie->lanes;
	if (known)
		text_fit(brief, sizeof(links->brief), "PCIe %u x%u", pcie->generation, pcie->lanes);
	if (known && pcie->lanes < pcie->lanes_max)
		text_fit_more(brief, sizeof(links->brief), " of x%u", pcie->lanes_max);
	if (up)
		text_fit_more(brief, sizeof(links->brief), "%s%zu %s", brief[0] ? ", " : "", up,
			      kind);
}

int link_facts_read(struct dev *d, struct device_links *links)
{
	*links = (struct device_links){0};
	int status = dev_links_read(d, &links->links);
	if (status == 0 && is_below_maximum(&links->links)) {
		struct traffic traffic = {0};
		/* Without memory for it the link is reported as it idles. */
		if (open_traffic(d, &traffic) == 0)
			status = read_while_copying(d, &traffic, links);
		else
			err_clear();
		dev_stream_close(d, traffic.stream);
		dev_free(d, traffic.memory);
		dev_free(d, traffic.host);
	}
	write_brief(links);
	return status;
}

/* ---------------------------------------------------------------- facts */

/* The words, of which each has a blank before it. */
static void add_fact(struct bench_case *c, const char *name, struct text *words)
{
	const char *whole = text_whole(words);
	bench_fact_text(c, name, whole && *whole ? whole + 1 : whole);
	text_free(words);
}

static void append_number(struct text *l, const char *name, unsigned value)
{
	if (value)
		text_add(l, " %s=%u", name, value);
}

static void append_word(struct text *l, const char *name, const char *word)
{
	if (word[0])
		text_add(l, " %s=%s", name, word);
}

static void append_rate(struct text *l, const char *name, double bytes_per_s)
{
	if (bytes_per_s > 0.0)
		text_add(l, " %s=%.4g", name, bytes_per_s);
}

/* The other end of a link: "host", "switch", "device_1", the PCI address of what is not among the
 * devices of --device, or "unknown". */
static void name_end(const struct bench_case *c, const struct dev_link *link, char *text,
		     size_t capacity)
{
	static const char *const names[] = {"unknown", "host", "device", "switch"};
	snprintf(text, capacity, "%s", names[link->end]);
	if (link->end == DEV_LINK_TO_HOST || link->end == DEV_LINK_TO_SWITCH || !link->end_bus[0])
		return;
	snprintf(text, capacity, "%s", link->end_bus);
	/* Some drivers write capital digits. */
	for (size_t i = 0; i < c->devices->count; i++)
		if (strcasecmp(dev_props(c->devices->dev[i])->bus, link->end_bus) == 0)
			snprintf(text, capacity, "device_%zu", i);
}

static void report_pcie(struct text *l, const struct dev_link *link, bool busy)
{
	append_number(l, "generation", link->generation);
	append_number(l, "generation_max", link->generation_max);
	append_number(l, "device_generation_max", link->device_generation_max);
	append_number(l, "lanes", link->lanes);
	append_number(l, "lanes_max", link->lanes_max);
	text_add(l, " read=%s", busy ? "busy" : "idle");
}

/* Switches are one end, however many there are: each joins all devices. */
static bool is_alike(const struct dev_link *a, const struct dev_link *b)
{
	return strcmp(a->kind, b->kind) == 0 && a->end == b->end &&
	       (a->end == DEV_LINK_TO_SWITCH || strcmp(a->end_bus, b->end_bus) == 0);
}

/* All links of this kind to the same end, of which `first` is the first. */
static void report_bundle(struct text *l, const struct dev_links *links, size_t first)
{
	static const struct dev_link none;
	const struct dev_link *link = &links->link[first], *up = &none;
	unsigned state[3] = {0};
	double errors = 0.0;
	for (size_t i = first; i < links->count; i++) {
		const struct dev_link *other = &links->link[i];
		if (!is_alike(link, other))
			continue;
		state[other->state]++;
		errors += isnan(other->errors) ? 0.0 : other->errors;
		if (up == &none && other->state == DEV_LINK_UP)
			up = other;
	}
	text_add(l, " up=%u down=%u", state[DEV_LINK_UP], state[DEV_LINK_DOWN]);
	append_word(l, "version", up->version);
	append_rate(l, "bytes_per_s", up->in_bytes_per_s);
	if (up->out_bytes_per_s < up->in_bytes_per_s || up->out_bytes_per_s > up->in_bytes_per_s)
		text_add(l, " out_bytes_per_s=%.4g", up->out_bytes_per_s);
	text_add(l, " errors=%.0f", errors);
}

static bool has_earlier(const struct dev_links *links, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (is_alike(&links->link[i], &links->link[at]))
			return true;
	return false;
}

static void report_links(struct bench_case *c, size_t device, const struct device_links *of)
{
	unsigned number = 0;
	for (size_t i = 0; i < of->links.count; i++) {
		const struct dev_link *link = &of->links.link[i];
		struct text l = {0};
		char name[32], end[40];
		if (has_earlier(&of->links, i))
			continue;
		name_end(c, link, end, sizeof(end));
		text_add(&l, " kind=%s to=%s", link->kind, end);
		if (strcmp(link->kind, "PCIe") == 0)
			report_pcie(&l, link, of->busy);
		else if (link->state != DEV_LINK_UNKNOWN)
			report_bundle(&l, &of->links, i);
		append_word(&l, "unknown", link->why);
		snprintf(name, sizeof(name), "link_%zu_%u", device, number++);
		add_fact(c, name, &l);
	}
	if (of->links.count && of->links.numa_node >= 0) {
		char name[32];
		snprintf(name, sizeof(name), "numa_node_%zu", device);
		bench_fact_number(c, name, of->links.numa_node);
	}
}

static int report_memory_errors(struct bench_case *c, size_t device)
{
	struct dev_telemetry samples[DEV_TELEMETRY_MAX];
	size_t count = 0;
	struct text l = {0};
	const char *why = "";
	char name[32];
	int status = dev_health_read(c->devices->dev[device], samples, &count);
	if (status || count == 0)
		return status;
	for (size_t i = 0; i < count; i++) {
		if (!isnan(samples[i].number))
			text_add(&l, " %s=%.0f", samples[i].name, samples[i].number);
		else if (!why[0])
			why = samples[i].why;
	}
	append_word(&l, "unknown", why);
	snprintf(name, sizeof(name), "memory_errors_%zu", device);
	add_fact(c, name, &l);
	return 0;
}

static int describe_path(struct bench_case *c, size_t from, size_t to, struct text *l)
{
	struct dev_path path;
	int status = dev_path_read(c->devices->dev[from], c->devices->dev[to], &path);
	if (status)
		return status;
	append_word(l, "kind", path.kind);
	append_word(l, "meet", path.meet);
	append_word(l, "access", path.access);
	append_number(l, "hops", path.hops);
	append_rate(l, "bytes_per_s", path.bytes_per_s);
	append_word(l, "unknown", path.why);
	return 0;
}

/* The way back has a fact where it differs. */
static int report_path(struct bench_case *c, size_t one, size_t other)
{
	struct text out = {0}, back = {0};
	char name[2][48];
	int status = describe_path(c, one, other, &out);
	TRY(status, describe_path(c, other, one, &back));
	const bool differs = out.length != back.length ||
			     (out.length && memcmp(out.bytes, back.bytes, out.length) != 0);
	snprintf(name[0], sizeof(name[0]), "path_%zu_%zu", one, other);
	snprintf(name[1], sizeof(name[1]), "path_%zu_%zu", other, one);
	if (status == 0 && out.length)
		add_fact(c, name[0], &out);
	if (status == 0 && back.length && differs)
		add_fact(c, name[1], &back);
	text_free(&out);
	text_free(&back);
	return status;
}

int link_facts_report(struct bench_case *c, const struct device_links *links)
{
	const size_t devices = c->devices->count;
	for (size_t i = 0; i < devices && c->status == 0; i++) {
		report_links(c, i, &links[i]);
		TRY(c->status, report_memory_errors(c, i));
	}
	for (size_t from = 0; from < devices; from++)
		for (size_t to = from + 1; to < devices; to++)
			TRY(c->status, report_path(c, from, to));
	return c->status;
}
