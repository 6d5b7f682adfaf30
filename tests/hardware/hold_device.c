/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device kept open while many programs use it one after the other: the driver stays loaded and initialised, and kernels that
 * are compiled at the first opening are in the cache (GPUSIG_KERNEL_CACHE) for the others.
 *
 *     hold_device DEVICE <PIPE        one line says when it is open; ends when the pipe's last writer has closed it
 *
 * Nothing is allocated, queued or polled while it waits. Exit 0, 1: it can't be opened, 2: usage, 77: no device.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "device/dev.h"
#include "lib/clock.h"
#include "lib/err.h"

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: hold_device DEVICE\n");
		return 2;
	}
	struct dev_set set;
	uint64_t start_ns = clock_ns();
	int rc = dev_open(argv[1], 0, &set);
	if (rc) {
		fprintf(stderr, "hold_device: %s\n", err_text());
		return rc == -ENODEV ? 77 : 1;
	}
	printf("%zu device%s of %s held open, opened in %.2f s\n", set.count, set.count > 1 ? "s" : "", argv[1],
	       1e-9 * (double)(clock_ns() - start_ns));
	fflush(stdout);
	char byte;
	ssize_t got;
	do
		got = read(STDIN_FILENO, &byte, 1);
	while (got > 0 || (got < 0 && errno == EINTR));
	dev_close(&set);
	return 0;
}
