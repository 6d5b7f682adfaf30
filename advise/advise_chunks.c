/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chunks of a bulk copy. Each costs about the same beside its bytes, so what is lost of the rate
 * falls as chunks grow, and the wait of a small copy grows.
 */
#include "advise/advise_model.h"
#include "lib/err.h"

#include <errno.h>
#include <math.h>

#define WAITS 2.0     /* as long as without a bulk, and a small copy waits for it */
#define HELPS 0.5     /* of the wait behind the whole */
#define AS_SHORT 1.05 /* a wait that is no longer, by noise */
#define NOTHING 1e-9  /* a loss */
#define GRANULE 4096.0

static double loss(double kept) { return 1 / kept - 1; }

/* Between a chunk that loses more than `most` and a larger one that does not. If each costs the
 * same the loss falls as they grow; it does not fall faster, whatever noise says of small losses.
 */
static double bytes_between(const struct advise_curve *kept, unsigned below, double most)
{
	const double x[2] = {kept->x[below], kept->x[below + 1]},
		     y[2] = {loss(kept->y[below]), fmax(NOTHING, loss(kept->y[below + 1]))};
	const double slope = fmin(1, log(y[0] / y[1]) / log(x[1] / x[0]));
	return fmin(x[1], x[0] * pow(y[0] / most, 1 / slope));
}

/* Sets all but the verdict by the smallest chunk with which, as with all larger ones that were
 * measured, the bulk keeps enough. False: there is none. */
static bool chunk_of_yield(const struct advise_chunks *c, enum advise_yield yield, double keep,
			   struct advise_copy_chunk *chunk_p)
{
	const struct advise_curve *kept = &c->kept[yield];
	bool outside;
	unsigned i = kept->points;
	while (i > 0 && kept->y[i - 1] >= keep)
		i--;
	if (i == kept->points)
		return false;
	const double bytes =
		ceil((i ? bytes_between(kept, i - 1, loss(keep)) : kept->x[0]) / GRANULE) * GRANULE;
	*chunk_p = (struct advise_copy_chunk){
		.whole_wait_s = c->whole_wait_s,
		.idle_wait_s = c->idle_wait_s,
		.bytes = (uint64_t)bytes,
		.yield = yield,
		.wait_s = curve_at(&c->wait[yield], bytes, true, &outside),
		.rate_kept = i && bytes < kept->x[i] ? keep : fmin(1, kept->y[i]),
		.smallest = i == 0};
	return true;
}

int advise_copy_chunk(const struct advise_machine *m, unsigned direction, double keep,
		      struct advise_copy_chunk *chunk_p)
{
	if (direction >= ADVISE_DIRECTIONS)
		return err_note(-EINVAL, "unknown direction %u; directions: 0 to %d", direction,
				ADVISE_DIRECTIONS - 1);
	if (!(keep > 0 && keep < 1))
		return err_note(-EINVAL, "a share of the rate above 0 and below 1, not %g", keep);
	const struct advise_chunks *c = &m->chunks[direction];
	struct advise_copy_chunk best = {ADVISE_CHUNKS_IN_VAIN, c->whole_wait_s, c->idle_wait_s},
				 chunk;
	if (!(c->whole_wait_s > 0))
		return err_note(-ENODATA, "no copies in chunks were measured of direction %s",
				advise_directions[direction]);
	for (unsigned yield = 0; yield < ADVISE_YIELDS; yield++)
		if (chunk_of_yield(c, yield, keep, &chunk) &&
		    chunk.wait_s < HELPS * c->whole_wait_s &&
		    (best.bytes == 0 || chunk.wait_s * AS_SHORT < best.wait_s)) {
			best = chunk;
			best.verdict = ADVISE_CHUNKS;
		}
	if (c->whole_wait_s < WAITS * c->idle_wait_s)
		best = (struct advise_copy_chunk){ADVISE_NO_CHUNKS, c->whole_wait_s,
						  c->idle_wait_s};
	*chunk_p = best;
	return 0;
}
