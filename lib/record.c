/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/record.h"
#include "lib/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes: several records, of which one is whole. */
#define LOOKED_AT 65536

/* /dev/stdout is a link of the system to what the program was given. */
static bool may_be_link(const char *path)
{
	return strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
	       strncmp(path, "/proc/", 6) == 0;
}

/* As lib/json.h writes it, or as Python does, with spaces. */
static bool begins_as_records(const char *text)
{
	for (const char *expected = RECORD_BEGIN; *expected; text++)
		if (*text != ' ' && *text != *expected++)
			return false;
	return true;
}

/* Not the first line alone, which may be damaged. */
static bool holds_record(int fd)
{
	char text[LOOKED_AT + 1] = "";
	ssize_t length = pread(fd, text, LOOKED_AT, 0);
	const char *line = length > 0 ? text : NULL;
	while (line && !begins_as_records(line)) {
		line = memchr(line, '\n', (size_t)(text + length - line));
		line = line ? line + 1 : NULL;
	}
	return line != NULL;
}

/* 0 if a line can be appended to what the file holds. */
static int check_content(int fd, const char *path)
{
	struct stat info;
	char last = '\n';
	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
		return 0;
	if (!holds_record(fd))
		return err_note(-EEXIST, "%s is not a file of records", path);
	if (pread(fd, &last, 1, info.st_size - 1) == 1 && last != '\n')
		return err_note(-EBADMSG, "%s ends in the middle of a record", path);
	return 0;
}

int record_open(struct record_file *f, const char *path)
{
	int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (may_be_link(path) ? 0 : O_NOFOLLOW);
	int fd = open(path, flags, 0666);
	if (fd < 0 && errno == ELOOP)
		return err_note(-ELOOP, "open %s: it is a symbolic link", path);
	if (fd < 0)
		return err_note(-errno, "open %s: %s", path, strerror(errno));
	int status = check_content(fd, path);
	if (status) {
		close(fd);
		return status;
	}
	*f = (struct record_file){.fd = fd, .path = path};
	return 0;
}

int record_append(struct record_file *f, const char *line, size_t bytes)
{
	if (f->fd < 0)
		return 0;
	off_t before = lseek(f->fd, 0, SEEK_END);
	ssize_t written;
	do
		written = write(f->fd, line, bytes);
	while (written < 0 && errno == EINTR);
	if (written == (ssize_t)bytes)
		return 0;
	int cause = written < 0 ? errno : ENOSPC;
	/* A device or a pipe has nothing to truncate; the error below is reported all the same. */
	if (written > 0 && before >= 0 && ftruncate(f->fd, before) != 0)
		return err_note(-cause, "append to %s: %s, and a partial line could not be removed",
				f->path, strerror(cause));
	return err_note(-cause, "append to %s: %s", f->path, strerror(cause));
}

int record_close(struct record_file *f)
{
	if (f->fd < 0)
		return 0;
	int fd = f->fd;
	f->fd = -1;
	if (close(fd) != 0)
		return err_note(-errno, "close %s: %s", f->path, strerror(errno));
	return 0;
}
