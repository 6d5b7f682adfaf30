/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/dynlib.h"
#include "device/dev_libraries.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static double (*cosine)(double);
static double (*nonsense)(double);

static const struct dynlib_symbol cosine_only[] = {{"cos", &cosine, false}, {NULL, NULL, false}};
static const struct dynlib_symbol with_optional[] = {
	{"cos", &cosine, false}, {"gpusig_nonsense", &nonsense, true}, {NULL, NULL, false}};
static const struct dynlib_symbol with_required[] = {
	{"cos", &cosine, false}, {"gpusig_nonsense", &nonsense, false}, {NULL, NULL, false}};
static const char *const libm[] = {"libm.so.6", NULL};
static const char *const absent[] = {"libgpusig-absent.so.2", "libgpusig-absent.so", NULL};

static void opens_a_library(void)
{
	struct dynlib l = {.title = "libm", .files = libm, .symbols = with_optional};
	nonsense = cos;
	require(dynlib_open(&l) == 0);
	expect_near(cosine(0), 1, 0);
	expect(nonsense == NULL);
	expect(strstr(l.path, "/libm.so.6") != NULL);
	expect(dynlib_open(&l) == 0);
}

static void falls_back_to_second_name(void)
{
	static const char *const files[] = {"libgpusig-absent.so", "libm.so.6", NULL};
	struct dynlib l = {.title = "libm", .files = files, .symbols = cosine_only};
	expect(dynlib_open(&l) == 0);
}

static void missing_file_is_named(void)
{
	struct dynlib l = {.title = "Absent", .files = absent, .symbols = cosine_only};
	for (int i = 0; i < 2; i++) {
		err_clear();
		expect(dynlib_open(&l) == -ENODEV);
		expect_str(
			err_text(),
			"Absent is not installed: no libgpusig-absent.so.2, libgpusig-absent.so");
	}
}

static void missing_symbol_is_named(void)
{
	struct dynlib l = {.title = "libm", .files = libm, .symbols = with_required};
	char text[320];
	expect(dynlib_open(&l) == -ENODEV);
	snprintf(text, sizeof(text), "libm has no function gpusig_nonsense (%s)", l.path);
	expect_str(err_text(), text);
	expect(cosine == NULL && nonsense == NULL);
}

/* The folder has the library; the others of the list are empty, absent or too long for a path. */
static void searches_listed_folders(const char *variable, const char *folder)
{
	static const char *const files[] = {"libgpusig-absent.so", "libgpusig-there.so", NULL};
	char list[1024];
	struct dynlib listed = {.title = "Listed", .files = files, .symbols = cosine_only};
	struct dynlib none = listed;
	snprintf(list, sizeof(list), "::/dev/null/none:%0600d:%s", 0, folder);
	setenv(variable, list, 1);
	cosine = NULL;
	expect(dynlib_open(&listed) == 0);
	expect(cosine != NULL && cosine(0) == 1);
	setenv(variable, "/dev/null/none:", 1);
	expect(dynlib_open(&none) == -ENODEV);
	unsetenv(variable);
}

/* A temporary folder has first a file that is not a library, then a link to one, under a name
 * that the loader does not find. */
static void searches_folders(void)
{
	static const char *const folders[] = {"$GPUSIG_TEST_UNSET/lib", "$GPUSIG_TEST_FOLDER/lib",
					      "/dev/null/none", NULL};
	static const char *const files[] = {"libgpusig-there.so", NULL};
	struct dynlib libm_library = {.title = "libm", .files = libm, .symbols = cosine_only};
	struct dynlib broken = {
		.title = "Broken", .files = files, .folders = folders, .symbols = cosine_only};
	struct dynlib linked = {
		.title = "Linked", .files = files, .folders = folders, .symbols = cosine_only};
	struct dynlib unset = {
		.title = "Unset", .files = files, .folders = folders, .symbols = cosine_only};
	char folder[] = "/tmp/gpusig-dynlibXXXXXX", lib[64], path[96], text[320];
	require(dynlib_open(&libm_library) == 0);
	require(mkdtemp(folder));
	snprintf(lib, sizeof(lib), "%s/lib", folder);
	snprintf(path, sizeof(path), "%s/libgpusig-there.so", lib);
	unsetenv("GPUSIG_TEST_UNSET");
	setenv("GPUSIG_TEST_FOLDER", folder, 1);
	FILE *file = mkdir(lib, 0700) == 0 ? fopen(path, "w") : NULL;
	if (file) {
		fputs("not a library", file);
		fclose(file);
	}
	expect(dynlib_open(&broken) == -ENODEV);
	snprintf(text, sizeof(text), "Broken cannot be loaded: %s: ", path);
	expect(strncmp(err_text(), text, strlen(text)) == 0);
	unlink(path);
	expect(symlink(libm_library.path, path) == 0);
	cosine = NULL;
	expect(dynlib_open(&linked) == 0);
	expect(cosine != NULL && cosine(0) == 1);
	unsetenv("GPUSIG_TEST_FOLDER");
	expect(dynlib_open(&unset) == -ENODEV);
	searches_listed_folders("GPUSIG_LIBRARIES", lib);
	searches_listed_folders("GPUSIG_PYTHON_LIBRARIES", lib);
	unlink(path);
	rmdir(lib);
	rmdir(folder);
}

/* ------------------------------------------------------------------ several files */

/* A folder of its own with copies of libm, each of which is another library to the loader. */
static char place[] = "/tmp/gpusig-dynlibXXXXXX";

static void copy_library(const char *name)
{
	struct dynlib l = {.title = "libm", .files = libm, .symbols = cosine_only};
	char to[128], chunk[4096];
	size_t bytes;
	snprintf(to, sizeof(to), "%s/%s", place, name);
	if (access(to, F_OK) == 0)
		return;
	require(dynlib_open(&l) == 0);
	*strrchr(to, '/') = '\0';
	mkdir(to, 0700);
	snprintf(to, sizeof(to), "%s/%s", place, name);
	FILE *in = fopen(l.path, "rb"), *out = fopen(to, "wb");
	require(in && out);
	while ((bytes = fread(chunk, 1, sizeof(chunk), in)) > 0)
		require(fwrite(chunk, 1, bytes, out) == bytes);
	fclose(in);
	require(fclose(out) == 0);
}

static void set_folder(const char *variable, const char *name)
{
	char folder[128];
	snprintf(folder, sizeof(folder), "%s/%s", place, name);
	setenv(variable, folder, 1);
}

static const char *const two_names[] = {"libgpusig-there.so.2", "libgpusig-there.so.1", NULL};
static const char *const of_variable[] = {"$GPUSIG_TEST_FOLDER", NULL};

/* "" or the path within the folder. */
static const char *opened_file(struct dynlib *l)
{
	const size_t length = strlen(place);
	if (dynlib_open(l))
		printf("# %s\n", err_text());
	return strncmp(l->path, place, length) == 0 ? l->path + length : "";
}

/* Two releases, of which the loader's path and a default folder have the newer one: what is named
 * wins, and where several name one, the more particular variable does. */
static void what_is_named_wins(void)
{
	char folder[128];
	const char *const defaults[] = {"$GPUSIG_TEST_FOLDER", folder, NULL};
	struct dynlib at[4] = {{.title = "A"}, {.title = "B"}, {.title = "C"}, {.title = "D"}};
	for (int i = 0; i < 4; i++) {
		at[i].files = two_names;
		at[i].folders = defaults;
		at[i].symbols = cosine_only;
	}
	copy_library("listed/libgpusig-there.so.1");
	copy_library("loaders/libgpusig-there.so.1");
	copy_library("variable/libgpusig-there.so.1");
	copy_library("default/libgpusig-there.so.2");
	snprintf(folder, sizeof(folder), "%s/default", place);
	set_folder("GPUSIG_LIBRARIES", "listed");
	set_folder("LD_LIBRARY_PATH", "loaders");
	set_folder("GPUSIG_TEST_FOLDER", "variable");
	expect(dynlib_is_named(&at[0]));
	expect_str(opened_file(&at[0]), "/listed/libgpusig-there.so.1");
	unsetenv("GPUSIG_LIBRARIES");
	expect(dynlib_is_named(&at[1]));
	expect_str(opened_file(&at[1]), "/loaders/libgpusig-there.so.1");
	unsetenv("LD_LIBRARY_PATH");
	expect(dynlib_is_named(&at[2]));
	expect_str(opened_file(&at[2]), "/variable/libgpusig-there.so.1");
	unsetenv("GPUSIG_TEST_FOLDER");
	expect(!dynlib_is_named(&at[3]));
	expect_str(opened_file(&at[3]), "/default/libgpusig-there.so.2");
}

/* The loader's path has the older one. */
static void the_newest_release_wins(void)
{
	char folder[128];
	const char *const files[] = {"libgpusig-there.so.2", "libm.so.6", NULL};
	const char *const defaults[] = {folder, NULL};
	struct dynlib l = {
		.title = "Newest", .files = files, .folders = defaults, .symbols = cosine_only};
	copy_library("default/libgpusig-there.so.2");
	snprintf(folder, sizeof(folder), "%s/default", place);
	expect_str(opened_file(&l), "/default/libgpusig-there.so.2");
}

static void only_the_folder_of_the_other_library_is_searched(void)
{
	static const char *const one[] = {"libgpusig-there.so.1", NULL};
	static const char *const other[] = {"libgpusig-there.so.2", NULL};
	struct dynlib first = {
		.title = "First", .files = one, .folders = of_variable, .symbols = cosine_only};
	struct dynlib near = {
		.title = "Near", .files = other, .next_to = &first, .symbols = cosine_only};
	struct dynlib absent_there = near;
	copy_library("variable/libgpusig-there.so.1");
	copy_library("default/libgpusig-there.so.2");
	set_folder("GPUSIG_TEST_FOLDER", "variable");
	set_folder("GPUSIG_LIBRARIES", "default");
	expect(dynlib_open(&first) == 0);
	expect(dynlib_open(&absent_there) == -ENODEV);
	copy_library("variable/libgpusig-there.so.2");
	expect_str(opened_file(&near), "/variable/libgpusig-there.so.2");
	unsetenv("GPUSIG_LIBRARIES");
	unsetenv("GPUSIG_TEST_FOLDER");
}

/* start() knows no library, so one with a device is told by how often it was called. */
static int starts, starts_without_device;

static int start_some(void)
{
	starts++;
	if (!cosine || cosine(0) != 1)
		return -EINVAL;
	return starts <= starts_without_device
		       ? err_note(-ENODEV, "number %d finds no device", starts)
		       : 0;
}

static bool is_listed(const char *text)
{
	const char *paths[DEV_LIBRARIES_MAX];
	const size_t count = dev_libraries(paths, DEV_LIBRARIES_MAX);
	for (size_t i = 0; i < count; i++)
		if (strcmp(paths[i], text) == 0)
			return true;
	return false;
}

/* The named file twice, as a link and as itself, then the default folder's. */
static void the_next_is_tried_where_one_has_no_device(void)
{
	static const char *const files[] = {"libgpusig-there.so.1", "libgpusig-there.so", NULL};
	char folder[128], text[256], link[128];
	const char *const defaults[] = {"$GPUSIG_TEST_FOLDER", folder, NULL};
	struct dynlib second = {.title = "Two",
				.files = files,
				.folders = defaults,
				.symbols = cosine_only,
				.start = start_some};
	struct dynlib none = second;
	copy_library("variable/libgpusig-there.so.1");
	copy_library("more/libgpusig-there.so.1");
	snprintf(folder, sizeof(folder), "%s/more", place);
	snprintf(link, sizeof(link), "%s/variable/libgpusig-there.so", place);
	require(symlink("libgpusig-there.so.1", link) == 0);
	set_folder("GPUSIG_TEST_FOLDER", "variable");
	starts = 0;
	starts_without_device = 1;
	expect_str(opened_file(&second), "/more/libgpusig-there.so.1");
	expect(starts == 2 && cosine != NULL);
	snprintf(text, sizeof(text), "%s/more/libgpusig-there.so.1 (number 1 finds no device)",
		 place);
	expect(is_listed(text));
	starts = 0;
	starts_without_device = 9;
	for (int i = 0; i < 2; i++) {
		err_clear();
		expect(dynlib_open(&none) == -ENODEV);
		expect_str(err_text(), "number 1 finds no device; number 2 finds no device");
	}
	expect(starts == 2 && !cosine && !none.absent && !none.path[0]);
	unlink(link);
	unsetenv("GPUSIG_TEST_FOLDER");
}

static double (*sine)(double);

/* The file of the named folder uses another file of the library below, as one that was passed over:
 * itself, since a libm needs no other. The one beside the library below is that library. */
static void what_uses_another_file_of_the_library_below_is_passed_over(void)
{
	static const struct dynlib_symbol sine_only[] = {{"sin", &sine, false},
							 {NULL, NULL, false}};
	static const char *const one[] = {"libgpusig-there.so.1", NULL};
	char text[512];
	struct dynlib below = {
		.title = "Below", .files = one, .folders = of_variable, .symbols = cosine_only};
	struct dynlib above = {
		.title = "Above", .files = two_names, .above = &below, .symbols = sine_only};
	struct dynlib none = above, alone = above;
	copy_library("below/libgpusig-there.so.1");
	copy_library("named/libgpusig-there.so.2");
	cosine = NULL;
	set_folder("GPUSIG_LIBRARIES", "named");
	expect_str(opened_file(&alone), "/named/libgpusig-there.so.2");
	unsetenv("GPUSIG_LIBRARIES");
	set_folder("GPUSIG_TEST_FOLDER", "below");
	expect(dynlib_open(&below) == 0);
	set_folder("GPUSIG_LIBRARIES", "named");
	expect_str(opened_file(&above), "/below/libgpusig-there.so.1");
	snprintf(text, sizeof(text),
		 "Above (%s/named/libgpusig-there.so.2) uses %s/named/libgpusig-there.so.2, "
		 "which is not in use",
		 place, place);
	expect_str(above.why, text);
	none.files = (const char *const[]){"libgpusig-there.so.2", NULL};
	sine = NULL;
	expect(dynlib_open(&none) == -ENODEV && !sine && !none.absent);
	expect_str(err_text(), text);
	unsetenv("GPUSIG_LIBRARIES");
	unsetenv("GPUSIG_TEST_FOLDER");
}

static void remove_copies(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s", place);
	expect(system(command) == 0);
}

/* ------------------------------------------------------------------ one call of start() */

static int start_fails(void)
{
	starts++;
	return cosine && cosine(0) == 1 ? err_note(-EIO, "the machine said no %d", starts)
					: -EINVAL;
}

/* start() runs once, with the slots set; later calls return its first result. */
static void start_runs_once(void)
{
	struct dynlib l = {
		.title = "libm", .files = libm, .symbols = cosine_only, .start = start_fails};
	starts = 0;
	for (int i = 0; i < 2; i++) {
		err_clear();
		expect(dynlib_open(&l) == -EIO);
		expect_str(err_text(), "the machine said no 1");
	}
	expect(starts == 1);
}

static struct dynlib raced = {.title = "libm", .files = libm, .symbols = cosine_only};

static void *open_and_call(void *result)
{
	*(double *)result = dynlib_open(&raced) == 0 ? cosine(0) : -1;
	return NULL;
}

static void opens_from_many_threads(void)
{
	pthread_t threads[8];
	double results[8] = {0};
	for (int i = 0; i < 8; i++)
		require(pthread_create(&threads[i], NULL, open_and_call, &results[i]) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 8; i++)
		expect_near(results[i], 1, 0);
}

int main(void)
{
	test(opens_a_library);
	test(falls_back_to_second_name);
	test(missing_file_is_named);
	test(missing_symbol_is_named);
	test(searches_folders);
	if (!mkdtemp(place)) {
		perror(place);
		return 1;
	}
	test(what_is_named_wins);
	test(the_newest_release_wins);
	test(only_the_folder_of_the_other_library_is_searched);
	test(the_next_is_tried_where_one_has_no_device);
	test(what_uses_another_file_of_the_library_below_is_passed_over);
	remove_copies();
	test(start_runs_once);
	test(opens_from_many_threads);
	return test_done();
}
