/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the fake run-time compilers put out and the fake drivers load: this word, then the architecture as text, then the
 * compiler's release as CUDA counts, 0 for HIP.
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
