/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file of records that is valid after every line, whatever happens to the machine or the process.
 */
#ifndef GPUSIG_RECORD_H
#define GPUSIG_RECORD_H

#include <stddef.h>

#define RECORD_SCHEMA "gpusig.record"
/* Start of every line, except for spaces. */
#define RECORD_BEGIN "{\"schema\":\"" RECORD_SCHEMA "\""

struct record_file {
	int fd; /* below 0: no file, and record_append() does nothing */
	const char *path;
};

/* Open for appending, creating it if need be. Errors of a regular file: -EEXIST where none of its
 * first lines begins as a record does, -EBADMSG where its last line lacks the newline (a crash),
 * since appending would glue two records together. A symbolic link is -ELOOP, but for /dev/stdout
 * and those of /proc. `path` must outlive the file. */
int record_open(struct record_file *f, const char *path);

/* Append one whole line with one write. If only a part is written, it is removed again, so that
 * the lines before stay a valid file; returns the error (-ENOSPC, -EIO, ...). */
int record_append(struct record_file *f, const char *line, size_t bytes);

/* 0 or the error of the last write-back. */
int record_close(struct record_file *f);

#endif
