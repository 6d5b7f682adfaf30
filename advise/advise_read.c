/* SPDX-License-Identifier: BSD-3-Clause */
#include "advise/advise_table.h"
#include "lib/err.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Doubles behind the table for a word: for a value of a side, with its logarithm, or for a way. */
enum { SLOTS = 3 };
_Static_assert(sizeof(struct advise_way) <= SLOTS * sizeof(double), "a way fits");
_Static_assert(_Alignof(struct advise_way) <= _Alignof(double), "a way may follow a number");

struct reader {
	char *next, *end; /* the text after this line */
	char *rest;       /* of this line */
	unsigned line;
	struct advise_table *table;
	double *spare;  /* behind the table, not in use yet */
	locale_t plain; /* a runtime may have chosen a decimal comma */
	bool has_error;
};

static int refuse_line(const struct reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse_line(const struct reader *r, const char *format, ...)
{
	char what[ERR_TEXT];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return err_note(-EINVAL, "line %u: %s", r->line, what);
}

/* ------------------------------------------------------------------ lines and words */

/* The next line, as a string of printable characters; those beyond ASCII are nobody's business.
 * False at the end of the text. */
static bool take_line(struct reader *r, int *status_p)
{
	if (r->next == r->end)
		return false;
	char *stop = memchr(r->next, '\n', (size_t)(r->end - r->next));
	if (!stop)
		stop = r->end;
	r->line++;
	r->rest = r->next;
	for (const char *at = r->rest; at < stop; at++) {
		const unsigned char byte = (unsigned char)*at;
		if ((byte < ' ' && byte != '\t' && byte != '\r') || byte == 0x7f) {
			*status_p = refuse_line(r, "a byte of %u: this is no text", byte);
			return false;
		}
	}
	r->next = stop == r->end ? r->end : stop + 1;
	*stop = '\0';
	return true;
}

/* The next line that is no comment. There is one until `end` was taken. */
static int next_line(struct reader *r)
{
	int status = 0;
	do {
		if (!take_line(r, &status))
			return status ? status : refuse_line(r, "nothing follows");
		r->rest += strspn(r->rest, " \t\r");
	} while (*r->rest == '#' || *r->rest == '\0');
	return 0;
}

/* The next word of the line; NULL: there is none. */
static char *next_word(struct reader *r)
{
	char *word = r->rest + strspn(r->rest, " \t\r");
	if (!*word)
		return NULL;
	r->rest = word + strcspn(word, " \t\r");
	if (*r->rest)
		*r->rest++ = '\0';
	return word;
}

static int line_ends(struct reader *r)
{
	const char *word = next_word(r);
	return word ? refuse_line(r, "'%s' is too much", word) : 0;
}

static int word_for(struct reader *r, const char *wanted, const char **word_p)
{
	*word_p = next_word(r);
	return *word_p ? 0 : refuse_line(r, "%s is missing", wanted);
}

/* A line that begins with this word. */
static int line_of(struct reader *r, const char *keyword)
{
	int status = next_line(r);
	if (status)
		return status;
	const char *word = next_word(r);
	return strcmp(word, keyword) == 0
		       ? 0
		       : refuse_line(r, "'%s' stands where '%s' should", word, keyword);
}

/* A finite number from `least` on: no hexadecimal digits, no "inf". */
static int number_of(const struct reader *r, const char *word, double least, double *number_p)
{
	char *end;
	const double number = strtod_l(word, &end, r->plain);
	if (end == word || *end || word[strspn(word, "0123456789.eE+-")] || !isfinite(number))
		return refuse_line(r, "'%s' is not a number", word);
	if (number < least)
		return refuse_line(r, "%s is too small", word);
	*number_p = number;
	return 0;
}

static int next_number(struct reader *r, const char *wanted, double *number_p)
{
	const char *word;
	int status = 0;
	TRY(status, word_for(r, wanted, &word));
	return TRY(status, number_of(r, word, DBL_TRUE_MIN, number_p));
}

/* ------------------------------------------------------------------ the lines of a table */

static int read_error(struct reader *r)
{
	const char *word;
	int status = r->has_error ? refuse_line(r, "a second error") : 0;
	TRY(status, word_for(r, "the error", &word));
	if (status == 0 && strcmp(word, "-") != 0)
		status = number_of(r, word, 0.0, &r->table->error);
	r->has_error = true;
	return TRY(status, line_ends(r));
}

static int read_chunk(struct reader *r)
{
	struct advise_table *t = r->table;
	if (t->chunks == ADVISE_CHUNKS)
		return refuse_line(r, "more than %d chunks", ADVISE_CHUNKS);
	struct advise_chunk *c = &t->chunk[t->chunks];
	double bytes = 0.0;
	int status = 0;
	TRY(status, word_for(r, "a direction", &c->direction));
	TRY(status, word_for(r, "what stands between chunks", &c->between));
	TRY(status, next_number(r, "the bytes of a chunk", &bytes));
	TRY(status, next_number(r, "the wait", &c->wait_seconds));
	TRY(status, next_number(r, "the share of the rate", &c->rate_kept));
	TRY(status, line_ends(r));
	if (status)
		return status;
	if (bytes > 0x1p53 || floor(bytes) < bytes)
		return refuse_line(r, "%g is no number of bytes", bytes);
	c->bytes = (uint64_t)bytes;
	if (advise_chunk(t, c->direction))
		return refuse_line(r, "a second chunk of direction %s", c->direction);
	t->chunks++;
	return 0;
}

static int add_way(struct reader *r, struct advise_grid *g, struct advise_way *way, char *word)
{
	char *slash = strchr(word, '/'), *last = slash ? strchr(slash + 1, '/') : NULL;
	if (!slash || slash == word || !slash[1] || slash[1] == '/' ||
	    (last && (!last[1] || strchr(last + 1, '/'))))
		return refuse_line(r, "'%s' is no SCHEDULE/COPY-METHOD[/CUT]", word);
	if (g->ways == ADVISE_WAYS)
		return refuse_line(r, "more than %d ways", ADVISE_WAYS);
	*slash = '\0';
	if (last)
		*last = '\0';
	const struct advise_way *own = &way[g->ways];
	way[g->ways] = (struct advise_way){word, slash + 1, last ? last + 1 : "rows"};
	for (const struct advise_way *w = way; w < own; w++)
		if (strcmp(w->schedule, own->schedule) == 0 &&
		    strcmp(w->copy_method, own->copy_method) == 0 && strcmp(w->cut, own->cut) == 0)
			return refuse_line(r, "a second %s/%s/%s", w->schedule, w->copy_method,
					   w->cut);
	g->ways++;
	return 0;
}

static int read_ways(struct reader *r, struct advise_grid *g)
{
	struct advise_way *way = (struct advise_way *)r->spare;
	int status = line_of(r, "ways");
	for (char *word; status == 0 && (word = next_word(r));)
		status = add_way(r, g, way, word);
	if (status)
		return status;
	g->way = way;
	r->spare += SLOTS * g->ways;
	return g->ways ? 0 : refuse_line(r, "no ways");
}

static int read_side(struct reader *r, const char *name, struct advise_side *s)
{
	double *value = r->spare, logs[ADVISE_SIDES];
	int status = line_of(r, name);
	for (const char *word; status == 0 && (word = next_word(r)); s->count++) {
		if (s->count == ADVISE_SIDES)
			return refuse_line(r, "more than %d values of %s", ADVISE_SIDES, name);
		status = number_of(r, word, DBL_TRUE_MIN, &value[s->count]);
		if (status)
			return status;
		logs[s->count] = log(value[s->count]);
		if (s->count && !(logs[s->count] > logs[s->count - 1]))
			return refuse_line(r, "%s does not rise: %s", name, word);
	}
	if (status)
		return status;
	s->value = value;
	s->log = memcpy(value + s->count, logs, s->count * sizeof(*logs));
	r->spare += SLOTS * s->count;
	return s->count ? 0 : refuse_line(r, "no values of %s", name);
}

/* The seconds of all ways at a point. */
static int read_point(struct reader *r, const struct advise_grid *g, uint32_t point,
		      uint32_t points)
{
	int status = next_line(r);
	for (unsigned way = 0; status == 0 && way < g->ways; way++) {
		const char *word;
		double seconds = NAN;
		TRY(status, word_for(r, "the time of a way", &word));
		if (status == 0 && strcmp(word, "-") != 0 &&
		    number_of(r, word, DBL_TRUE_MIN, &seconds))
			status = refuse_line(r,
					     "'%s' stands where seconds should, of point %u of %u",
					     word, point + 1, points);
		*r->spare++ = log(seconds);
	}
	return TRY(status, line_ends(r));
}

static int read_name(struct reader *r, struct advise_grid *g)
{
	const char *word;
	double devices = 0.0;
	int status = 0;
	TRY(status, word_for(r, "the operation", &g->op));
	TRY(status, word_for(r, "the type", &g->type));
	TRY(status, word_for(r, "the number of devices", &word));
	TRY(status, number_of(r, word, 1.0, &devices));
	TRY(status, line_ends(r));
	if (status)
		return status;
	if (devices > 1e6 || floor(devices) < devices)
		return refuse_line(r, "%s is no number of devices", word);
	g->devices = (unsigned)devices;
	const struct advise_grid *same;
	if (advise_find(r->table, g->op, g->type, g->devices, &same) == 0)
		return refuse_line(r, "a second grid of %s %s %u", g->op, g->type, g->devices);
	return 0;
}

static int read_grid(struct reader *r)
{
	struct advise_table *t = r->table;
	if (t->grids == ADVISE_GRIDS)
		return refuse_line(r, "more than %d grids", ADVISE_GRIDS);
	struct advise_grid *g = &t->grid[t->grids];
	int status = 0;
	TRY(status, read_name(r, g));
	TRY(status, read_ways(r, g));
	TRY(status, read_side(r, "m", &g->side[ADVISE_M]));
	TRY(status, read_side(r, "n", &g->side[ADVISE_N]));
	TRY(status, read_side(r, "k", &g->side[ADVISE_K]));
	const uint32_t points =
		g->side[ADVISE_M].count * g->side[ADVISE_N].count * g->side[ADVISE_K].count;
	g->log_seconds = r->spare;
	for (uint32_t i = 0; status == 0 && i < points; i++)
		status = read_point(r, g, i, points);
	if (status == 0)
		t->grids++;
	return status;
}

static int read_end(struct reader *r)
{
	int status = line_ends(r);
	if (status == 0 && r->next != r->end)
		status = refuse_line(r, "more follows the end");
	if (status == 0 && !r->has_error)
		status = refuse_line(r, "no line says the error");
	for (unsigned i = 0; i < r->table->grids; i++)
		r->table->grid[i].error = r->table->error;
	return status;
}

static int read_lines(struct reader *r)
{
	static const struct {
		const char *word;
		int (*read)(struct reader *r);
	} kinds[] = {{"error", read_error}, {"chunk", read_chunk}, {"grid", read_grid}};
	for (;;) {
		int status = next_line(r);
		if (status)
			return status;
		const char *word = next_word(r);
		if (strcmp(word, "end") == 0)
			return read_end(r);
		status = refuse_line(r, "'%s' begins no line here", word);
		for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strcmp(word, kinds[i].word) == 0)
				status = kinds[i].read(r);
		if (status)
			return status;
	}
}

/* ------------------------------------------------------------------ the file */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* The first line, and whether the last one is there. */
static int check_ends(struct reader *r)
{
	static const char first[] = "gpusig advice 1", last[] = "\nend";
	const size_t bytes = strlen(last);
	int status = 0;
	while (r->end > r->next && is_blank(r->end[-1]))
		r->end--;
	const bool whole =
		(size_t)(r->end - r->next) >= bytes && memcmp(r->end - bytes, last, bytes) == 0;
	if (!take_line(r, &status) || strncmp(r->rest, first, strlen(first)) != 0 ||
	    r->rest[strlen(first) + strspn(r->rest + strlen(first), " \t\r")]) {
		r->line = 1;
		return refuse_line(r, "not \"%s\": no table of advice, or one of another version",
				   first);
	}
	if (whole)
		return 0;
	for (const char *at = r->next; at < r->end; at++)
		r->line += *at == '\n' || at + 1 == r->end;
	return refuse_line(r, "no `end`: the file was cut");
}

static size_t words_of(const char *text, size_t bytes)
{
	size_t words = 0;
	for (size_t i = 0; i < bytes; i++)
		words += !is_blank(text[i]) && (i == 0 || is_blank(text[i - 1]));
	return words;
}

/* The table has a copy of the text behind its numbers: names point there. */
static int read_text(const char *text, size_t bytes, struct advise_table **table_p)
{
	const size_t slots = SLOTS * words_of(text, bytes);
	struct advise_table *t = malloc(sizeof(*t) + slots * sizeof(double) + bytes + 1);
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	int status = t && plain ? 0 : err_note(-ENOMEM, "no memory for the table");
	if (status == 0) {
		double *spare = (double *)(t + 1);
		char *copy = memcpy(spare + slots, text, bytes);
		struct reader r = {.next = copy,
				   .end = copy + bytes,
				   .rest = copy,
				   .table = t,
				   .spare = spare,
				   .plain = plain};
		memset(t, 0, sizeof(*t));
		t->error = NAN;
		TRY(status, check_ends(&r));
		TRY(status, read_lines(&r));
	}
	if (plain)
		freelocale(plain);
	if (status)
		free(t);
	else
		*table_p = t;
	return status;
}

static int check_file(int fd, size_t *bytes_p)
{
	struct stat about;
	if (fstat(fd, &about))
		return err_note(-errno, "%s", strerror(errno));
	if (!S_ISREG(about.st_mode))
		return err_note(-EINVAL, "not a regular file");
	if (about.st_size > ADVISE_BYTES)
		return err_note(-EFBIG, "%lld bytes; a table has at most %d",
				(long long)about.st_size, ADVISE_BYTES);
	*bytes_p = (size_t)about.st_size;
	return 0;
}

/* Fewer bytes than asked for where the file has become shorter. */
static int read_bytes(int fd, char *text, size_t *bytes_p)
{
	size_t used = 0;
	while (used < *bytes_p) {
		const ssize_t got = read(fd, text + used, *bytes_p - used);
		if (got < 0 && errno != EINTR)
			return err_note(-errno, "%s", strerror(errno));
		if (got == 0)
			break;
		used += got > 0 ? (size_t)got : 0;
	}
	*bytes_p = used;
	return 0;
}

int advise_read(const char *path, struct advise_table **table_p)
{
	size_t bytes = 0;
	char *text = NULL;
	/* A FIFO without a writer would block. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_note(-errno, "%s", strerror(errno));
	int status = check_file(fd, &bytes);
	if (status == 0 && !(text = malloc(bytes + 1)))
		status = err_note(-ENOMEM, "no memory for %zu bytes", bytes);
	if (text) {
		TRY(status, read_bytes(fd, text, &bytes));
		TRY(status, read_text(text, bytes, table_p));
	}
	close(fd);
	free(text);
	return status;
}

void advise_free(struct advise_table *t) { free(t); }
