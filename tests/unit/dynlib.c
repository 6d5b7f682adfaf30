/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/dynlib.h"
#include "lib/err.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
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
static void searches_listed_folders(const char *folder)
{
	static const char *const files[] = {"libgpusig-absent.so", "libgpusig-there.so", NULL};
	char list[1024];
	struct dynlib listed = {.title = "Listed", .files = files, .symbols = cosine_only};
	struct dynlib none = listed;
	snprintf(list, sizeof(list), "::/dev/null/none:%0600d:%s", 0, folder);
	setenv("GPUSIG_LIBRARIES", list, 1);
	cosine = NULL;
	expect(dynlib_open(&listed) == 0);
	expect(cosine != NULL && cosine(0) == 1);
	setenv("GPUSIG_LIBRARIES", "/dev/null/none:", 1);
	expect(dynlib_open(&none) == -ENODEV);
	unsetenv("GPUSIG_LIBRARIES");
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
	searches_listed_folders(lib);
	unlink(path);
	rmdir(lib);
	rmdir(folder);
}

static int starts;

static int start_fails(void)
{
	starts++;
	return cosine && cosine(0) == 1 ? err_note(-ENODEV, "the machine said no %d", starts)
					: -EINVAL;
}

/* start() runs once, with the slots set; later calls return its first result. */
static void start_runs_once(void)
{
	struct dynlib l = {
		.title = "libm", .files = libm, .symbols = cosine_only, .start = start_fails};
	for (int i = 0; i < 2; i++) {
		err_clear();
		expect(dynlib_open(&l) == -ENODEV);
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
	test(start_runs_once);
	test(opens_from_many_threads);
	return test_done();
}
