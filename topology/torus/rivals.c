/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology/torus/rivals.h"
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int rivals_make(const struct network *network, enum schedule_ports ports, struct rivals *r_p)
{
	*r_p = (struct rivals){.network = *network, .ports = ports};
	for (unsigned k = 0; schedule_row(k); k++) {
		assert(k < RIVALS_MOST);
		struct rival *rival = &r_p->rivals[k];
		rival->name = schedule_row(k)->name;
		rival->status = profile_make(network, rival->name, ports, &rival->profile);
		if (rival->status == -ENOMEM) {
			rivals_free(r_p);
			return -ENOMEM;
		}
		if (rival->status)
			snprintf(rival->why, sizeof(rival->why), "%.255s", err_text());
	}
	err_clear();
	return 0;
}

void rivals_free(struct rivals *r)
{
	for (unsigned k = 0; k < RIVALS_MOST; k++)
		profile_free(&r->rivals[k].profile);
	*r = (struct rivals){.ports = SCHEDULE_ONE_PORT};
}

const struct rival *rivals_find(const struct rivals *r, const char *name)
{
	for (const struct rival *rival = r->rivals; rival->name; rival++)
		if (strcmp(rival->name, name) == 0)
			return rival;
	return NULL;
}

const struct rival *rivals_best(const struct rivals *r, const struct profile_costs *costs, double bytes)
{
	const struct rival *best = NULL;
	for (const struct rival *rival = r->rivals; rival->name; rival++)
		if (rival->status == 0 && (!best || profile_time(&rival->profile, costs, bytes) <
		                                            profile_time(&best->profile, costs, bytes)))
			best = rival;
	return best;
}

bool rivals_wins(const struct rivals *r, const struct rival *mine, const struct profile_costs *costs, double *from_p,
                 double *to_p)
{
	double from = 0, to = mine->status ? 0 : INFINITY;
	for (const struct rival *other = r->rivals; other->name && to > from; other++) {
		if (other->status || other == mine)
			continue;
		double ahead = profile_latency(&other->profile, costs) - profile_latency(&mine->profile, costs);
		double steeper = profile_slope(&other->profile, costs) - profile_slope(&mine->profile, costs);
		if (steeper > 0)
			from = fmax(from, -ahead / steeper);
		else if (steeper < 0)
			to = fmin(to, ahead / -steeper);
		else if (ahead < 0)
			to = 0;
	}
	*from_p = from;
	*to_p = to;
	return to > from;
}

char *rivals_show(const struct rivals *r, const struct profile_costs *costs, char *text, size_t room)
{
	double from, to, reached = 0;
	size_t used = 0;
	text[0] = '\0';
	for (bool more = true; more;) {
		more = false;
		for (const struct rival *rival = r->rivals; rival->name && !more; rival++) {
			if (rival->status || !rivals_wins(r, rival, costs, &from, &to) || from > reached || to <= reached)
				continue;
			char since[40] = "";
			if (reached > 0)
				snprintf(since, sizeof(since), ", from %.0f ", ceil(reached));
			int length = snprintf(text + used, room - used, "%s%s", since, rival->name);
			used += (size_t)length < room - used ? (size_t)length : room - used - 1;
			reached = to;
			more = isfinite(to);
		}
	}
	return text;
}
