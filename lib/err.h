/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors: a code goes up the call chain; its cause, in words, is kept here.
 *
 * Functions of lib and device return 0 or -errno and print nothing. The function that knows the
 * cause calls err_note(); the one that treats it as an error prints err_text(). Messages are lower
 * case, name the operation, the object and the cause, and never guess.
 */
#ifndef GPUSIG_ERR_H
#define GPUSIG_ERR_H

#define ERR_TEXT 1024 /* bytes of the longest text */

/* Keep a text for this thread and return `code`, as in `return err_note(-ENOMEM, "...")`. The
 * text is cut at ERR_TEXT - 1 characters, and then ends in "...". */
int err_note(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The latest text of this thread; "" when there is none. Valid until the next err_note() of the
 * thread. */
const char *err_text(void);

/* Forget the text of this thread. */
void err_clear(void);

/* The end of TRY(): keeps `result` unless `status` has an error by now. */
static inline int err_add(int *status, int result)
{
	*status = *status ? *status : result;
	return *status;
}

/* Do an operation that returns 0 or -errno unless an earlier one of the same `status` has failed,
 * and keep its error there: a list of calls with one check at the end.
 *
 *     int status = 0;
 *     TRY(status, dev_event_record(dev, from, event));
 *     TRY(status, dev_stream_wait(dev, to, event));        not after an error of the first
 *     return status;
 *
 * Its value is the status. An error that the operation itself keeps there stays, whatever it
 * returns. */
#define TRY(status, operation) ((status) ? (status) : err_add(&(status), (operation)))

/* The first error of several calls, for code that goes on after one: clean-up, waits for every
 * stream. Starts as all zeroes.
 *
 *     struct err_first first = {0};
 *     err_keep(&first, status);
 *     err_keep(&first, dev_stream_sync(dev, stream));     goes on whatever came before
 *     return err_kept(&first);
 */
struct err_first {
	int status; /* 0: no error so far */
	char text[ERR_TEXT];
};

/* Keep `status` and the latest text if it is the first error. Returns the first error so far. */
int err_keep(struct err_first *first, int status);

/* Return the first error and make its text the latest one; 0 leaves the text alone. */
int err_kept(const struct err_first *first);

/* Print "gpusig: ", the message and a newline to stderr, in one write. */
void err_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
