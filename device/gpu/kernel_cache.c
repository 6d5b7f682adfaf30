/* SPDX-License-Identifier: BSD-3-Clause */
#include "device/gpu/kernel_cache.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "gpusig kernels 1"
#define MAX_BYTES ((size_t)64 << 20)

/* A file is this header, the key's text, then the image. */
struct head {
	char magic[24];
	uint64_t key_bytes, image_bytes, checksum;
};

/* FNV-1a */
static uint64_t fnv1a_hash(const char *bytes, size_t count)
{
	uint64_t h = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < count; i++)
		h = (h ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
	return h;
}

/* The whole key as one string, which the caller frees. */
static char *key_text(const struct kernel_cache_key *key)
{
	size_t bytes = strlen(key->compiler) + strlen(key->source) + 3, used;
	for (int i = 0; i < key->option_count; i++)
		bytes += strlen(key->options[i]) + 1;
	char *text = malloc(bytes);
	if (!text)
		return NULL;
	used = (size_t)snprintf(text, bytes, "%s\n", key->compiler);
	for (int i = 0; i < key->option_count; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s\n", key->options[i]);
	snprintf(text + used, bytes - used, "\n%s", key->source);
	return text;
}

/* NULL: there is no cache. */
static const char *cache_folder(void)
{
	const char *folder = getenv("GPUSIG_KERNEL_CACHE");
	return folder && folder[0] ? folder : NULL;
}

static bool entry_path(const char *folder, const char *text, char *path, size_t capacity)
{
	int length = snprintf(path, capacity, "%s/%016llx.kernels", folder,
			      (unsigned long long)fnv1a_hash(text, strlen(text)));
	return length > 0 && (size_t)length < capacity;
}

/* The bytes of a regular file of this user that nobody else may write; the caller frees them. */
static char *read_own_file(const char *path, size_t *bytes_p)
{
	struct stat s;
	char *bytes = NULL;
	size_t read_bytes = 0;
	ssize_t got = 0;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (file < 0)
		return NULL;
	bool own = fstat(file, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
		   !(s.st_mode & (S_IWGRP | S_IWOTH));
	if (own && s.st_size > 0 && (size_t)s.st_size <= MAX_BYTES)
		bytes = malloc((size_t)s.st_size);
	while (bytes && read_bytes < (size_t)s.st_size &&
	       (got = read(file, bytes + read_bytes, (size_t)s.st_size - read_bytes)) > 0)
		read_bytes += (size_t)got;
	close(file);
	*bytes_p = read_bytes;
	return bytes;
}

/* True if the file is the complete entry of this key. */
static bool is_entry(const char *bytes, size_t count, const char *text, struct head *head)
{
	const size_t key_bytes = strlen(text);
	if (count < sizeof(*head))
		return false;
	memcpy(head, bytes, sizeof(*head));
	return strncmp(head->magic, MAGIC, sizeof(head->magic)) == 0 &&
	       head->key_bytes == key_bytes && count - sizeof(*head) >= key_bytes &&
	       head->image_bytes == count - sizeof(*head) - key_bytes &&
	       memcmp(bytes + sizeof(*head), text, key_bytes) == 0 &&
	       head->checksum == fnv1a_hash(bytes + sizeof(*head) + key_bytes, head->image_bytes);
}

bool kernel_cache_find(const struct kernel_cache_key *key, void **image_p, size_t *bytes_p)
{
	struct head head;
	char path[4096], *text = key_text(key), *image = NULL;
	size_t count = 0;
	const char *folder = cache_folder();
	char *bytes = folder && text && entry_path(folder, text, path, sizeof(path))
			      ? read_own_file(path, &count)
			      : NULL;
	if (bytes && is_entry(bytes, count, text, &head))
		image = calloc(head.image_bytes + 1, 1);
	if (image) {
		memcpy(image, bytes + sizeof(head) + head.key_bytes, head.image_bytes);
		*image_p = image;
		*bytes_p = head.image_bytes;
	}
	free(bytes);
	free(text);
	return image != NULL;
}

static bool write_all(int file, const void *bytes, size_t count)
{
	const char *from = bytes;
	ssize_t put = 0;
	for (; count && (put = write(file, from, count)) > 0; count -= (size_t)put)
		from += put;
	return count == 0;
}

/* Writes to a temporary name first and renames it, so that nobody reads a partial entry. */
static void write_entry(const char *path, const struct head *head, const char *text,
			const void *image)
{
	char draft[4096 + 8];
	snprintf(draft, sizeof(draft), "%s.XXXXXX", path);
	int file = mkostemp(draft, O_CLOEXEC);
	if (file < 0)
		return;
	bool whole = write_all(file, head, sizeof(*head)) &&
		     write_all(file, text, head->key_bytes) &&
		     write_all(file, image, head->image_bytes);
	whole = close(file) == 0 && whole;
	if (!whole || rename(draft, path))
		unlink(draft);
}

void kernel_cache_keep(const struct kernel_cache_key *key, const void *image, size_t bytes)
{
	char path[4096], *text = key_text(key);
	struct head head = {
		.magic = MAGIC, .image_bytes = bytes, .checksum = fnv1a_hash(image, bytes)};
	const char *folder = cache_folder();
	if (folder && text && entry_path(folder, text, path, sizeof(path))) {
		mkdir(folder, 0700);
		head.key_bytes = strlen(text);
		write_entry(path, &head, text, image);
	}
	free(text);
}
