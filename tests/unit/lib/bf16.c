/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/bf16.h"
#include "lib/minifloat.h"
#include "tests/unit/test.h"

#include <stdbool.h>

static const struct minifloat_format format = {8, 7, true};

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

static void every_code_is_what_the_general_format_says(void)
{
	bool same = true;
	for (uint32_t code = 0; code < 65536; code++) {
		const float quick = bf16_decode((uint16_t)code),
			    general = minifloat_decode(format, code);
		same = same && (memcmp(&quick, &general, sizeof(quick)) == 0 ||
				(isnan(quick) && isnan(general)));
	}
	expect(same);
}

/* Floats at every code, halfway to the next one, and beside both. */
static void floats_are_rounded_as_the_general_format_rounds(void)
{
	static const uint32_t below[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
	bool same = true;
	for (uint32_t code = 0; code < 65536; code++)
		for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
			const float x = float_of(code << 16 | below[i]);
			const uint16_t quick = bf16_encode(x);
			same = same && (isnan(x) ? isnan(bf16_decode(quick))
						 : quick == minifloat_encode(format, x));
		}
	expect(same);
}

static void known_values(void)
{
	expect(bf16_encode(1.0f) == 0x3f80 && bf16_encode(-2.0f) == 0xc000);
	expect(bf16_encode(257.0f) == bf16_encode(256.0f)); /* a tie, to even */
	expect(bf16_encode(259.0f) == bf16_encode(260.0f));
	expect(bf16_encode(3.4e38f) == 0x7f80 && isnan(bf16_decode(bf16_encode(NAN))));
}

int main(void)
{
	test(known_values);
	test(every_code_is_what_the_general_format_says);
	test(floats_are_rounded_as_the_general_format_rounds);
	return test_done();
}
