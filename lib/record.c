/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/record.h"
#include "lib/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int record_open(struct record_file *f, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_note(-errno, "open %s: %s", path, strerror(errno));
	struct stat info;
	char last = '\n';
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
	    pread(fd, &last, 1, info.st_size - 1) == 1 && last != '\n') {
		close(fd);
		return err_note(-EBADMSG, "%s ends in the middle of a record", path);
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
