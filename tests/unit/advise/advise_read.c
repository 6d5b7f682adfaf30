/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reader of tables of advice: what it reads, every malformed line, and files that are hostile.
 */
#include "lib/err.h"
#include "tests/unit/advise/advise_file.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>

static const char whole[] = "gpusig advice 1\n"
			    "# two grids\n"
			    "error 0.034\n"
			    "chunk down kernel 8388608 0.00021 0.95\n"
			    "\n"
			    "chunk up nothing 4096 1e-05 1.01\n"
			    "grid ag-gemm bf16 8\n"
			    "ways serial/engine serial/kernel shard/engine\n"
			    "m 256 512\n"
			    "n 4096\n"
			    "k 1024 2048\n"
			    "0.00012 0.00013 0.00011\n"
			    "0.00021 0.00022 0.0002\n"
			    "# the third\n"
			    "0.0002 0.00023 -\n"
			    "0.00038 0.00041 0.00036\n"
			    "grid gemm-rs f32 2\n"
			    "ways serial/engine/columns\n"
			    "m 1\n"
			    "n 1\n"
			    "k 0.5\n"
			    "1\n"
			    "end\n";

static void a_table_is_read(void)
{
	struct advise_table *t = table_of(whole);
	const struct advise_grid *grid;
	unsigned count = 0;
	double seconds[3];
	require(advise_find(t, "ag-gemm", "bf16", 8, &grid) == 0);
	const struct advise_way *way = advise_ways(grid, &count);
	expect(count == 3);
	expect_str(way[1].schedule, "serial");
	expect_str(way[1].copy_method, "kernel");
	expect_str(way[2].schedule, "shard");
	expect(advise_seconds(grid, 256, 4096, 2048, seconds) == 0);
	expect_near(seconds[1], 0.00022, 1e-18);
	expect(advise_seconds(grid, 512, 4096, 1024, seconds) == 0);
	expect_near(seconds[0], 0.0002, 1e-18);
	expect(isnan(seconds[2]));
	expect_str(way[2].cut, "rows");
	require(advise_find(t, "gemm-rs", "f32", 2, &grid) == 0);
	way = advise_ways(grid, &count);
	expect(count == 1);
	expect_str(way[0].copy_method, "engine");
	expect_str(way[0].cut, "columns");
	const struct advise_chunk *c = advise_chunk(t, "down");
	require(c);
	expect_str(c->between, "kernel");
	expect(c->bytes == 8 << 20 && c->wait_seconds == 0.00021 && c->rate_kept == 0.95);
	expect(advise_chunk(t, "up") && !advise_chunk(t, "peer"));
	advise_free(t);
}

static void a_grid_that_is_not_there(void)
{
	struct advise_table *t = table_of(whole);
	const struct advise_grid *grid;
	expect(advise_find(t, "gemm-rs", "f32", 4, &grid) == -ENOENT);
	expect_str(err_text(), "the table has no gemm-rs f32 on 4 devices; it has: ag-gemm bf16 8, "
			       "gemm-rs f32 2");
	expect(advise_find(t, "ag-gemm", "bf1", 8, &grid) == -ENOENT);
	expect(advise_find(t, "", "bf16", 8, &grid) == -ENOENT);
	advise_free(t);
	advise_free(NULL);
}

/* Blanks, ends of lines of another system, no grid at all, no last end of line. */
static void other_layouts(void)
{
	advise_free(table_of("gpusig advice 1\r\nerror -\r\nend\r\n"));
	advise_free(table_of("gpusig advice 1\nerror 0\n#\n  # two\nend"));
	advise_free(table_of("gpusig advice 1 \n\terror\t1e2 \n\n grid a b 1\nways c/d \nm 1e0\nn "
			     "+1\nk 1.\n 5E-324\nend\n\n"));
}

/* The text `whole` with the first `from` in it replaced by `to`. */
static void replace_text(char *text, size_t capacity, const char *from, const char *to)
{
	const char *at = strstr(whole, from);
	require(at);
	snprintf(text, capacity, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
}

static const struct {
	const char *from, *to, *said;
} malformed[] = {
	{"advice 1", "advice 2",
	 "line 1: not \"gpusig advice 1\": no table of advice, or one of another version"},
	{"advice 1", "advice 11",
	 "line 1: not \"gpusig advice 1\": no table of advice, or one of another version"},
	{"gpusig", "{gpusig",
	 "line 1: not \"gpusig advice 1\": no table of advice, or one of another version"},
	{"\nend", "", "line 22: no `end`: the file was cut"},
	{"\nend\n", "\nen", "line 23: no `end`: the file was cut"},
	{"end\n", "end\nend", "line 23: more follows the end"},
	{"end", "end 1\nend", "line 23: '1' is too much"},
	{"error 0.034", "", "line 23: no line says the error"},
	{"error 0.034", "error", "line 3: the error is missing"},
	{"error 0.034", "error 1 2", "line 3: '2' is too much"},
	{"error 0.034", "error -0.1", "line 3: -0.1 is too small"},
	{"error 0.034", "error nan", "line 3: 'nan' is not a number"},
	{"error 0.034", "error 0x1", "line 3: '0x1' is not a number"},
	{"error 0.034", "error 1e999", "line 3: '1e999' is not a number"},
	{"error 0.034", "error 1e", "line 3: '1e' is not a number"},
	{"error 0.034", "error 0,034", "line 3: '0,034' is not a number"},
	{"# two grids", "error 1", "line 3: a second error"},
	{"error 0.034", "eror 1", "line 3: 'eror' begins no line here"},
	{"# two grids", "1 2 3", "line 2: '1' begins no line here"},
	{"# two grids", "\x1b[0m", "line 2: a byte of 27: this is no text"},
	{"# two grids", "# \x7f", "line 2: a byte of 127: this is no text"},
	{"chunk up", "chunk down", "line 6: a second chunk of direction down"},
	{"8388608", "0", "line 4: 0 is too small"},
	{"8388608", "4096.5", "line 4: 4096.5 is no number of bytes"},
	{"8388608", "1e300", "line 4: 1e+300 is no number of bytes"},
	{" 0.95", "", "line 4: the share of the rate is missing"},
	{" 0.95", " -1", "line 4: -1 is too small"},
	{" kernel 8388608 0.00021 0.95", "", "line 4: what stands between chunks is missing"},
	{" bf16 8", "", "line 7: the type is missing"},
	{"bf16 8", "bf16", "line 7: the number of devices is missing"},
	{"bf16 8", "bf16 8 8", "line 7: '8' is too much"},
	{"bf16 8", "bf16 0", "line 7: 0 is too small"},
	{"bf16 8", "bf16 2.5", "line 7: 2.5 is no number of devices"},
	{"bf16 8", "bf16 5e9", "line 7: 5e9 is no number of devices"},
	{"gemm-rs f32 2", "ag-gemm bf16 8", "line 17: a second grid of ag-gemm bf16 8"},
	{"ways serial/engine serial/kernel shard/engine", "ways", "line 8: no ways"},
	{"serial/kernel", "serial", "line 8: 'serial' is no SCHEDULE/COPY-METHOD[/CUT]"},
	{"serial/kernel", "/kernel", "line 8: '/kernel' is no SCHEDULE/COPY-METHOD[/CUT]"},
	{"serial/kernel", "serial/", "line 8: 'serial/' is no SCHEDULE/COPY-METHOD[/CUT]"},
	{"serial/kernel", "a/b/c/d", "line 8: 'a/b/c/d' is no SCHEDULE/COPY-METHOD[/CUT]"},
	{"serial/kernel", "a/b/", "line 8: 'a/b/' is no SCHEDULE/COPY-METHOD[/CUT]"},
	{"serial/kernel", "a//c", "line 8: 'a//c' is no SCHEDULE/COPY-METHOD[/CUT]"},
	{"serial/kernel", "serial/engine/rows", "line 8: a second serial/engine/rows"},
	{"serial/kernel", "serial/engine", "line 8: a second serial/engine/rows"},
	{"m 256 512\n", "", "line 9: 'n' stands where 'm' should"},
	{"m 256 512", "m", "line 9: no values of m"},
	{"m 256 512", "m 256 256", "line 9: m does not rise: 256"},
	{"m 256 512", "m 512 256", "line 9: m does not rise: 256"},
	{"m 256 512", "m 1000 1000.0000000000001", "line 9: m does not rise: 1000.0000000000001"},
	{"m 256 512", "m 0 512", "line 9: 0 is too small"},
	{"m 256 512", "m -1 512", "line 9: -1 is too small"},
	{"m 256 512", "m 256 inf", "line 9: 'inf' is not a number"},
	{"m 256 512", "m 256 512:", "line 9: '512:' is not a number"},
	{"0.00012 ", "", "line 12: the time of a way is missing"},
	{"0.00012 ", "0.1 0.1 ", "line 12: '0.00011' is too much"},
	{"0.00012 ", "nan ", "line 12: 'nan' stands where seconds should, of point 1 of 4"},
	{"0.00012 ", "0 ", "line 12: '0' stands where seconds should, of point 1 of 4"},
	{"0.00012 ", "-1 ", "line 12: '-1' stands where seconds should, of point 1 of 4"},
	{"0.00038 0.00041 0.00036\n", "",
	 "line 16: 'grid' stands where seconds should, of point 4 of 4"},
	{"\n1\n", "\n", "line 22: 'end' stands where seconds should, of point 1 of 1"},
	{"\n1\n", "\n1\n1\n", "line 23: '1' begins no line here"},
	{"k 0.5", "", "line 22: '1' stands where 'k' should"},
};

static void malformed_lines(void)
{
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		struct advise_table *t = NULL;
		char text[sizeof(whole) + 64];
		replace_text(text, sizeof(text), malformed[i].from, malformed[i].to);
		expect(read_bytes(text, strlen(text), &t) == -EINVAL);
		expect_str(err_text(), malformed[i].said);
		expect(!t);
		advise_free(t);
	}
}

/* Ask for everything that a table that was read has, for the sanitizers. */
static void ask_all(const struct advise_table *t)
{
	static const char *const ops[] = {"ag-gemm", "gemm-rs"}, *const types[] = {"bf16", "f32"};
	for (unsigned i = 0; i < 2; i++) {
		const struct advise_grid *grid;
		struct advise_choice choice;
		if (advise_find(t, ops[i], types[i], i ? 2 : 8, &grid))
			continue;
		for (double side = 0.5; side < 5000; side *= 2)
			if (advise(grid, side, i ? 1 : 4096, i ? 0.5 : 1500, &choice) == 0)
				expect(choice.seconds >= 0 && strlen(choice.schedule) > 0);
	}
}

static void every_cut_is_refused(void)
{
	for (size_t count = 0; count < strlen(whole) - 1; count++) {
		struct advise_table *t = NULL;
		expect(read_bytes(whole, count, &t) == -EINVAL && !t);
		expect(strstr(err_text(), count < strlen("gpusig advice 1")
						  ? "line 1: not \"gpusig"
						  : "no `end`: the file was cut") != NULL);
	}
}

/* Any byte may be any other one: the table is refused with a line, or is one. */
static void changed_bytes(void)
{
	static const char few[] = {0, ' ', '\n', '#', '-', '/', '9', 'e', (char)0xff};
	char text[sizeof(whole)];
	memcpy(text, whole, sizeof(text));
	for (size_t at = 0; at < strlen(whole); at++) {
		for (int i = 0; i < (test_all() ? 256 : (int)sizeof(few)); i++) {
			struct advise_table *t = NULL;
			text[at] = test_all() ? (char)i : few[i];
			int status = read_bytes(text, strlen(whole), &t);
			expect(status == (t ? 0 : -EINVAL));
			expect(t || strncmp(err_text(), "line ", 5) == 0);
			expect(text[at] != 0 || !t);
			if (t)
				ask_all(t);
			advise_free(t);
		}
		text[at] = whole[at];
	}
}

/* Repeats a piece, between a head and a tail. */
static int read_repeated(const char *head, const char *piece, size_t times, const char *tail)
{
	const size_t one = strlen(piece), before = strlen(head), after = strlen(tail);
	struct advise_table *t = NULL;
	char *text = malloc(before + times * one + after + 1), *at = text + before;
	memcpy(text, head, before);
	for (size_t i = 0; i < times; i++, at += one)
		memcpy(at, piece, one);
	memcpy(at, tail, after);
	int status = read_bytes(text, before + times * one + after, &t);
	expect(status != 0 || t);
	advise_free(t);
	free(text);
	return status;
}

static void more_than_a_table_holds(void)
{
	static const char head[] = "gpusig advice 1\nerror 0\n", grid[] = "grid a b 1\n";
	char side[8192] = "", text[4 * sizeof(side)];
	size_t used = 0;
	for (unsigned i = 1; i <= ADVISE_SIDES; i++)
		used += (size_t)snprintf(side + used, sizeof(side) - used, " %u", i);
	snprintf(text, sizeof(text), "%s%sways a/b\nm%s\nn%s\nk%s\n", head, grid, side, side, side);
	expect(read_repeated(text, "1\n", 100, "end\n") == -EINVAL);
	expect_str(err_text(),
		   "line 108: 'end' stands where seconds should, of point 101 of 16777216");
	snprintf(text, sizeof(text), "%s%sways a/b\nm%s 257", head, grid, side);
	expect(read_repeated(text, "", 0, "\nend\n") == -EINVAL);
	expect_str(err_text(), "line 5: more than 256 values of m");
	snprintf(text, sizeof(text), "%s%sways", head, grid);
	used = strlen(text);
	for (unsigned i = 0; i <= ADVISE_WAYS; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " a/%u", i);
	expect(read_repeated(text, "", 0, "\nend\n") == -EINVAL);
	expect_str(err_text(), "line 4: more than 64 ways");
	strcpy(text, head);
	used = strlen(text);
	for (unsigned i = 0; i <= ADVISE_CHUNKS; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "chunk %u b 1 1 1\n", i);
	expect(read_repeated(text, "", 0, "end\n") == -EINVAL);
	expect_str(err_text(), "line 19: more than 16 chunks");
}

static void more_grids_than_a_table_holds(void)
{
	const size_t bytes = 64 * ADVISE_GRIDS;
	char *text = malloc(bytes);
	for (unsigned grids = ADVISE_GRIDS; grids <= ADVISE_GRIDS + 1; grids++) {
		size_t used = (size_t)snprintf(text, bytes, "gpusig advice 1\nerror 0\n");
		for (unsigned i = 1; i <= grids; i++)
			used += (size_t)snprintf(text + used, bytes - used,
						 "grid a b %u\nways a/b\nm 1\nn 1\nk 1\n1\n", i);
		expect(read_repeated(text, "", 0, "end\n") ==
		       (grids == ADVISE_GRIDS ? 0 : -EINVAL));
	}
	expect_str(err_text(), "line 6147: more than 1024 grids");
	free(text);
}

static void endless_lines(void)
{
	static const char head[] = "gpusig advice 1\nerror ";
	expect(read_repeated(head, "9", 4 << 20, "\nend\n") == -EINVAL);
	expect(strlen(err_text()) == ERR_TEXT - 1);
	expect(read_repeated(head, "0 ", 2 << 20, "\nend\n") == -EINVAL);
	expect_str(err_text(), "line 2: '0' is too much");
	expect(read_repeated("", "\n", 4 << 20, "\nend\n") == -EINVAL);
	expect(read_repeated(head, "0\n#", 2 << 20, "\nend\n") == 0);
}

static void no_such_file(void)
{
	struct advise_table *t = NULL;
	char folder[] = "/tmp/gpusig-advice-XXXXXX", path[64];
	expect(advise_read("/dev/null/node.advice", &t) == -ENOTDIR);
	expect_str(err_text(), "Not a directory");
	require(mkdtemp(folder));
	expect(advise_read(folder, &t) == -EINVAL);
	expect_str(err_text(), "not a regular file");
	snprintf(path, sizeof(path), "%s/fifo", folder);
	require(mkfifo(path, 0600) == 0);
	expect(advise_read(path, &t) == -EINVAL); /* without waiting for a writer */
	unlink(path);
	rmdir(folder);
	require(ftruncate(advise_fd, (off_t)1 << 30) == 0);
	expect(advise_read(advise_path, &t) == -EFBIG);
	expect_str(err_text(), "1073741824 bytes; a table has at most 33554432");
	require(ftruncate(advise_fd, 0) == 0);
	expect(advise_read(advise_path, &t) == -EINVAL && !t);
}

/* A runtime may have set the user's locale. */
static void a_decimal_comma_changes_nothing(void)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
	const char *chosen = NULL;
	for (unsigned i = 0; i < 4 && !chosen; i++)
		chosen = setlocale(LC_NUMERIC, names[i]);
	if (!chosen)
		skip("no locale with a decimal comma");
	a_table_is_read();
	setlocale(LC_NUMERIC, "C");
}

int main(void)
{
	open_file();
	test(a_table_is_read);
	test(a_grid_that_is_not_there);
	test(other_layouts);
	test(malformed_lines);
	test(every_cut_is_refused);
	test(changed_bytes);
	test(more_than_a_table_holds);
	test(more_grids_than_a_table_holds);
	test(endless_lines);
	test(no_such_file);
	test(a_decimal_comma_changes_nothing);
	return test_done();
}
