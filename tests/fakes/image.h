/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The image that fake run-time compilers produce and fake drivers load: a magic text, the
 * architecture, then the compiler's release (1000 * major + 10 * minor; 0 for HIP).
 */
#ifndef FAKES_IMAGE_H
#define FAKES_IMAGE_H

#define FAKE_IMAGE_WORD "fake GPU image for "
#define FAKE_IMAGE_ARCH_BYTES 64

struct fake_image {
	char word[sizeof(FAKE_IMAGE_WORD)];
	char arch[FAKE_IMAGE_ARCH_BYTES];
	int release;
};

#endif
