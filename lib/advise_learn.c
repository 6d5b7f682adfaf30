/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/advise_model.h"

#include "lib/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8, WORD_BYTES = 32 };

struct words {
	unsigned count;
	char word[WORDS][WORD_BYTES];
};

/* Words of a line up to '#' or its end. */
static int split(const char *line, struct words *w)
{
	w->count = 0;
	for (;;) {
		line += strspn(line, " \t\r\n");
		size_t length = strcspn(line, " \t\r\n#");
		if (length == 0)
			return *line == 0 || *line == '#' ? 0 : -EINVAL;
		if (w->count == WORDS || length >= WORD_BYTES)
			return err_note(-EINVAL, "a line of more than %d words, or a word of more than %d letters", WORDS, WORD_BYTES - 1);
		memcpy(w->word[w->count], line, length);
		w->word[w->count++][length] = 0;
		line += length;
	}
}

static int name(const char *word, const char *const *names, unsigned count, unsigned *index_p)
{
	for (unsigned i = 0; i < count; i++) {
		if (strcmp(word, names[i]) == 0) {
			*index_p = i;
			return 0;
		}
	}
	return err_note(-EINVAL, "'%s' is not known; the first is '%s'", word, names[0]);
}

/* Positive and finite, or also 0. */
static int number(const char *word, bool zero, double *value_p)
{
	char *end;
	double value = strtod(word, &end);
	if (end == word || *end || !isfinite(value) || value < 0 || (!zero && !(value > 0)))
		return err_note(-EINVAL, "'%s' is not a %snumber", word, zero ? "" : "positive ");
	*value_p = value;
	return 0;
}

static int numbers(const struct words *w, unsigned from, double *values)
{
	for (unsigned i = from; i < w->count; i++) {
		int status = number(w->word[i], false, &values[i - from]);
		if (status)
			return status;
	}
	return 0;
}

static int learn_gemm(struct advise_machine *m, const struct words *w)
{
	struct advise_product product = {.seconds = 0};
	unsigned type = 0;
	int status = name(w->word[1], advise_types, ADVISE_TYPES, &type);
	double *const sides[] = {&product.shape.m, &product.shape.n, &product.shape.k};
	for (unsigned i = 0; status == 0 && i < 3; i++)
		status = number(w->word[2 + i], false, sides[i]);
	if (status == 0)
		status = number(w->word[5], true, &product.shape.adds);
	if (status == 0)
		status = number(w->word[6], false, &product.seconds);
	if (status)
		return status;
	if (product.shape.adds > 1)
		return err_note(-EINVAL, "a product adds to between 0 and 1 of C, not %g", product.shape.adds);
	if (m->gemm[type].products == ADVISE_PRODUCTS)
		return err_note(-ENOSPC, "room for %d products of %s", ADVISE_PRODUCTS, advise_types[type]);
	m->gemm[type].product[m->gemm[type].products++] = product;
	return 0;
}

static int learn_copy(struct advise_machine *m, const struct words *w)
{
	unsigned mover = 0, link = 0;
	double at[2] = {0};
	int status = name(w->word[1], advise_movers, ADVISE_MOVERS, &mover);
	if (status == 0)
		status = name(w->word[2], advise_links, ADVISE_LINKS, &link);
	if (status == 0)
		status = numbers(w, 3, at);
	if (status)
		return status;
	bool alone = strcmp(w->word[0], "copy") == 0;
	return curve_add(alone ? &m->copy[mover][link] : &m->both_ways[mover][link], at[0], at[1]);
}

static int devices_of(double value, unsigned *devices_p)
{
	if (value < 2 || value > 1e6 || floor(value) < value)
		return err_note(-EINVAL, "%g is no number of devices", value);
	*devices_p = (unsigned)value;
	return 0;
}

static int learn_exchange(struct advise_machine *m, const struct words *w)
{
	unsigned mover = 0, devices = 0;
	double values[3] = {0};
	int status = name(w->word[1], advise_movers, ADVISE_MOVERS, &mover);
	if (status == 0)
		status = numbers(w, 2, values);
	if (status == 0)
		status = devices_of(values[0], &devices);
	if (status)
		return status;
	if (m->exchange[mover].points > 0 && m->exchange_devices[mover] != devices)
		return err_note(-EINVAL, "exchanges of %u and of %u devices", m->exchange_devices[mover], devices);
	status = curve_add(&m->exchange[mover], values[1], values[2]);
	if (status == 0)
		m->exchange_devices[mover] = devices;
	return status;
}

static int learn_allreduce(struct advise_machine *m, const struct words *w)
{
	unsigned devices = 0, i = 0;
	double values[3] = {0};
	int status = numbers(w, 2, values);
	if (status == 0)
		status = devices_of(values[0], &devices);
	if (status)
		return status;
	while (i < m->algorithms && (strcmp(m->allreduce[i].name, w->word[1]) != 0 || m->allreduce[i].devices != devices))
		i++;
	if (i == ADVISE_ALGORITHMS || strlen(w->word[1]) >= sizeof(m->allreduce[i].name))
		return err_note(-ENOSPC, "room for %d algorithms with names of at most %zu letters", ADVISE_ALGORITHMS,
		                sizeof(m->allreduce[0].name) - 1);
	status = curve_add(&m->allreduce[i].curve, values[1], values[2]);
	if (status == 0 && i == m->algorithms) {
		strcpy(m->allreduce[i].name, w->word[1]);
		m->allreduce[i].devices = devices;
		m->algorithms++;
	}
	return status;
}

static int learn_cil(struct advise_machine *m, const struct words *w)
{
	unsigned mover = 0;
	double values[2] = {0};
	int status = name(w->word[1], advise_movers, ADVISE_MOVERS, &mover);
	if (status == 0)
		status = numbers(w, 2, values);
	if (status)
		return status;
	m->gemm_beside[mover] = values[0];
	m->copy_beside_gemm[mover] = values[1];
	return 0;
}

static int learn_reduce(struct advise_machine *m, const struct words *w)
{
	double at[2] = {0};
	int status = numbers(w, 1, at);
	return status ? status : curve_add(&m->reduce, at[0], at[1]);
}

static int learn_occupancy(struct advise_machine *m, const struct words *w)
{
	double shared = 0, values[2] = {0};
	int status = number(w->word[1], true, &shared);
	if (status == 0)
		status = numbers(w, 2, values);
	if (status == 0)
		status = curve_add(&m->resident, shared + 1, values[0]);
	return status ? status : curve_add(&m->foreign, shared + 1, values[1]);
}

static int learn_shaped(struct advise_machine *m, const struct words *w)
{
	double shared = 0, high = 0, ratio = 0;
	int status = number(w->word[1], true, &shared);
	if (status == 0)
		status = number(w->word[2], true, &high);
	if (status == 0)
		status = number(w->word[3], false, &ratio);
	if (status)
		return status;
	m->shaped_shared = shared;
	m->shaped_priority = high > 0;
	m->shaped_gain = ratio;
	return 0;
}

static int learn_hop(struct advise_machine *m, const struct words *w) { return number(w->word[1], true, &m->hop_s); }
static int learn_ingress(struct advise_machine *m, const struct words *w) { return number(w->word[1], false, &m->ingress); }
static int learn_priority(struct advise_machine *m, const struct words *w)
{
	return number(w->word[1], false, &m->priority_wait);
}

static int learn_engines(struct advise_machine *m, const struct words *w)
{
	double engines = 0;
	int status = number(w->word[1], true, &engines);
	if (status == 0 && engines > 1e6)
		return err_note(-EINVAL, "%g copy engines", engines);
	if (status == 0)
		m->engines = (unsigned)engines;
	return status;
}

int advise_learn(struct advise_machine *m, const char *line)
{
	static const struct {
		const char *word;
		unsigned words;
		int (*learn)(struct advise_machine *m, const struct words *w);
	} kinds[] = {{"gemm", 7, learn_gemm},           {"copy", 5, learn_copy},       {"bothways", 5, learn_copy},
	             {"exchange", 5, learn_exchange},   {"reduce", 3, learn_reduce},   {"allreduce", 5, learn_allreduce},
	             {"occupancy", 4, learn_occupancy}, {"cil", 4, learn_cil},         {"shaped", 4, learn_shaped},
	             {"hop", 2, learn_hop},             {"engines", 2, learn_engines}, {"ingress", 2, learn_ingress},
	             {"priority", 2, learn_priority}};
	struct words w;
	int status = split(line, &w);
	if (status || w.count == 0)
		return status;
	m->prepared = false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].word, w.word[0]) != 0)
			continue;
		if (w.count != kinds[i].words)
			return err_note(-EINVAL, "'%s' takes %u words, not %u", w.word[0], kinds[i].words - 1, w.count - 1);
		return kinds[i].learn(m, &w);
	}
	return err_note(-EINVAL, "'%s' is no line of a machine", w.word[0]);
}
