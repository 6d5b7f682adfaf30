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
#define HELPS 0.5     /* of the wait behind the whole, with the smallest chunk */
#define AS_SHORT 1.05 /* a wait that is no longer, by noise */
#define NOTHING 1e-9  /* a loss */
#define BEYOND 4.0    /* times the largest chunk, that of constant cost */
#define GRANULE 4096.0

static double loss_of(double kept) { return 1 / kept - 1; }

/* Between a chunk that loses more than `most` and a larger one that does not. If each costs the
 * same the loss falls as they grow; it does not fall faster, whatever noise says of small losses.
 */
static double bytes_between(const struct advise_curve *kept, unsigned below, double most)
{
	const double x[2] = {kept->x[below], kept->x[below + 1]},
		     y[2] = {loss_of(kept->y[below]), fmax(NOTHING, loss_of(kept->y[below + 1]))};
	const double slope = fmin(1, log(y[0] / y[1]) / log(x[1] / x[0]));
	return fmin(x[1], x[0] * pow(y[0] / most, 1 / slope));
}

/* The chunk that keeps just enough, below point i, or above all points. */
static double find_bytes(const struct advise_curve *kept, unsigned i, double keep)
{
	const unsigned last = kept->points - 1;
	if (i > last)
		return kept->x[last] * loss_of(kept->y[last]) / loss_of(keep);
	return i ? bytes_between(kept, i - 1, loss_of(keep)) : kept->x[0];
}

/* Sets what depends on the yield, by the smallest chunk with which, as with all larger ones that
 * were measured, the bulk keeps enough. False: there is none, or small copies do not pass. */
static bool find_chunk(const struct advise_cut *cut, double keep, struct advise_copy_chunk *chunk_p)
{
	const struct advise_curve *kept = &cut->kept, *wait = &cut->wait;
	bool outside;
	unsigned i = kept->points;
	while (i > 0 && kept->y[i - 1] >= keep)
		i--;
	if (kept->points == 0 || wait->y[0] >= HELPS * cut->smallest_whole_wait_s)
		return false;
	const double bytes = ceil(find_bytes(kept, i, keep) / GRANULE) * GRANULE;
	chunk_p->smallest = i == 0;
	chunk_p->larger = i == kept->points;
	if (chunk_p->larger && bytes > BEYOND * kept->x[i - 1])
		return false;
	chunk_p->bytes = (uint64_t)bytes;
	chunk_p->wait_s = curve_at(wait, bytes, true, &outside);
	chunk_p->rate_kept =
		i && (chunk_p->larger || bytes < kept->x[i]) ? keep : fmin(1, kept->y[i]);
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
				 chunk = best;
	chunk.verdict = ADVISE_CHUNKS;
	if (!(c->whole_wait_s > 0))
		return err_note(-ENODATA, "no copies in chunks were measured of direction %s",
				advise_directions[direction]);
	const bool waits = c->whole_wait_s >= WAITS * c->idle_wait_s;
	best.verdict = waits ? ADVISE_CHUNKS_IN_VAIN : ADVISE_NO_CHUNKS;
	for (unsigned yield = 0; waits && yield < ADVISE_YIELDS; yield++) {
		chunk.yield = yield;
		if (find_chunk(&c->cut[yield], keep, &chunk) && chunk.wait_s < c->whole_wait_s &&
		    (best.bytes == 0 || chunk.wait_s * AS_SHORT < best.wait_s))
			best = chunk;
	}
	*chunk_p = best;
	return 0;
}
