/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/kernel_cache.h"
#include "tests/unit/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], entry[512];
static const char *const options[] = {"--gpu-architecture=sm_90", "-O3"};
static const struct kernel_cache_key key = {
	.compiler = "NVRTC 13.0", .options = options, .option_count = 2, .source = "kernel source"};
static const char image[] = "machine\0code";

/* The only file in the folder. */
static bool find_entry(void)
{
	DIR *d = opendir(folder);
	int found = 0;
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(entry, sizeof(entry), "%s/%s", folder, e->d_name);
		found++;
	}
	if (d)
		closedir(d);
	return found == 1;
}

static bool is_found(const struct kernel_cache_key *k)
{
	void *got = NULL;
	size_t bytes = 0;
	if (!kernel_cache_find(k, &got, &bytes))
		return false;
	expect(bytes == sizeof(image) && memcmp(got, image, sizeof(image)) == 0 &&
	       ((char *)got)[bytes] == '\0');
	free(got);
	return true;
}

/* Makes a temporary folder with one entry. */
static void make_folder_with_entry(void)
{
	snprintf(folder, sizeof(folder), "/tmp/gpusig-kernelsXXXXXX");
	require(mkdtemp(folder));
	setenv("GPUSIG_KERNEL_CACHE", folder, 1);
	kernel_cache_keep(&key, image, sizeof(image));
	require(find_entry());
	require(is_found(&key));
}

static void remove_folder(void)
{
	unlink(entry);
	expect(rmdir(folder) == 0);
	unsetenv("GPUSIG_KERNEL_CACHE");
}

static void another_key_is_another_entry(void)
{
	static const char *const others[] = {"--gpu-architecture=sm_80", "-O3"};
	struct kernel_cache_key k = key;
	make_folder_with_entry();
	k.compiler = "NVRTC 13.1";
	expect(!is_found(&k));
	k = key;
	k.source = "kernel source, changed";
	expect(!is_found(&k));
	k = key;
	k.options = others;
	expect(!is_found(&k));
	k.options = options;
	k.option_count = 1;
	expect(!is_found(&k));
	remove_folder();
}

/* The file's name is not trusted: the same file under another key's name does not serve that
 * key. */
static void a_renamed_entry_is_stale(void)
{
	struct kernel_cache_key k = key;
	char first[sizeof(entry)];
	make_folder_with_entry();
	snprintf(first, sizeof(first), "%s", entry);
	k.source = "kernel source, changed";
	kernel_cache_keep(&k, image, sizeof(image));
	unlink(first);
	require(find_entry());
	expect(is_found(&k));
	expect(rename(entry, first) == 0);
	expect(!is_found(&k) && !is_found(&key));
	unlink(first);
	remove_folder();
}

static void damage_at(off_t at)
{
	char byte;
	int file = open(entry, O_RDWR);
	require(file >= 0);
	expect(pread(file, &byte, 1, at) == 1);
	byte ^= 1;
	expect(pwrite(file, &byte, 1, at) == 1);
	close(file);
}

static void a_damaged_entry_is_ignored(void)
{
	struct stat s;
	make_folder_with_entry();
	require(stat(entry, &s) == 0);
	for (off_t at = 0; at < s.st_size; at++) {
		damage_at(at);
		if (at < 16 || at >= 24) /* bytes after the magic word are not checked */
			expect(!is_found(&key));
		damage_at(at);
	}
	expect(is_found(&key));
	for (off_t bytes = s.st_size - 1; bytes >= 0; bytes -= 7) {
		expect(truncate(entry, bytes) == 0);
		expect(!is_found(&key));
	}
	remove_folder();
}

static void what_others_may_write_is_ignored(void)
{
	char link_target[600];
	make_folder_with_entry();
	expect(chmod(entry, 0620) == 0);
	expect(!is_found(&key));
	expect(chmod(entry, 0602) == 0);
	expect(!is_found(&key));
	expect(chmod(entry, 0600) == 0);
	expect(is_found(&key));
	if (geteuid() == 0) {
		expect(chown(entry, 65534, 65534) == 0);
		expect(!is_found(&key));
		expect(chown(entry, 0, 0) == 0);
	}
	snprintf(link_target, sizeof(link_target), "%s.away", entry);
	expect(rename(entry, link_target) == 0 && symlink(link_target, entry) == 0);
	expect(!is_found(&key));
	unlink(link_target);
	remove_folder();
}

static void a_folder_is_made_and_a_useless_one_ignored(void)
{
	char parent[] = "/tmp/gpusig-kernelsXXXXXX";
	require(mkdtemp(parent));
	snprintf(folder, sizeof(folder), "%s/new", parent);
	setenv("GPUSIG_KERNEL_CACHE", folder, 1);
	kernel_cache_keep(&key, image, sizeof(image));
	expect(is_found(&key) && find_entry());
	setenv("GPUSIG_KERNEL_CACHE", entry, 1); /* a file instead of a folder */
	kernel_cache_keep(&key, image, sizeof(image));
	expect(!is_found(&key));
	setenv("GPUSIG_KERNEL_CACHE", "", 1);
	kernel_cache_keep(&key, image, sizeof(image));
	expect(!is_found(&key));
	remove_folder();
	rmdir(parent);
	kernel_cache_keep(&key, image, sizeof(image));
	expect(!is_found(&key));
}

int main(void)
{
	test(another_key_is_another_entry);
	test(a_renamed_entry_is_stale);
	test(a_damaged_entry_is_ignored);
	test(what_others_may_write_is_ignored);
	test(a_folder_is_made_and_a_useless_one_ignored);
	return test_done();
}
