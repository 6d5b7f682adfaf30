/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keeps a device open while many programs use it one after the other. The driver stays loaded and
 * initialised, and the first opening compiles the kernels into the cache (GPUSIG_KERNEL_CACHE) for
 * the other programs.
 *
 *     hold_device DEVICE <PIPE        prints a line when the device is open; ends when the last
 *                                     writer has closed the pipe
 *
 * It allocates, queues and polls nothing while it waits. Exit 0; 1: the device cannot be opened;
 * 2: usage; 77: no device.
 */
#include "device/dev.h"
#include "lib/clock.h"
#include "lib/err.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: hold_device DEVICE\n");
		return 2;
	}
	struct dev_set set;
	uint64_t start_ns = clock_ns();
	int status = dev_open(argv[1], 0, &set);
	if (status) {
		fprintf(stderr, "hold_device: %s\n", err_text());
		return status == -ENODEV ? 77 : 1;
	}
	printf("%zu device%s of %s held open, opened in %.2f s\n", set.count,
	       set.count > 1 ? "s" : "", argv[1], 1e-9 * (double)(clock_ns() - start_ns));
	fflush(stdout);
	char byte;
	ssize_t got;
	do
		got = read(STDIN_FILENO, &byte, 1);
	while (got > 0 || (got < 0 && errno == EINTR));
	dev_close(&set);
	return 0;
}
