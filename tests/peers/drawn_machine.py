# SPDX-License-Identifier: BSD-3-Clause
"""A model of a machine for the simulated device, drawn from a seed: how fast it computes and moves data, how
large its cache is, and what it costs to start work. Its form, which decides what laws hold, goes by the seed
in turn. No machine is like it, so nothing was fitted to it.

    drawn_machine.py SEED          the model; its second line says how many devices it has
"""

from __future__ import annotations

import math
import random
import sys
from typing import Iterator, NamedTuple

MIB = 1 << 20


class Form(NamedTuple):
    devices: int
    links: str
    pairs: str  # links with a bandwidth of their own: none, any, or islands of half of the devices
    engine_order: str
    llc_tracked: int  # 0: the cache is always warm


FORMS = (
    Form(4, "mesh", "none", "stream_first", 1),
    Form(2, "switch", "none", "ready_first", 0),
    Form(8, "switch", "none", "stream_first", 1),
    Form(4, "ring", "none", "ready_first", 1),
    Form(8, "mesh", "none", "ready_first", 0),
    Form(8, "torus:4x2", "none", "stream_first", 1),
    Form(4, "mesh", "any", "ready_first", 1),
    Form(8, "switch", "islands", "stream_first", 0),
)


def _log_uniform(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def form_of(seed: int) -> Form:
    return FORMS[seed % len(FORMS)]


def _pairs(draw: random.Random, form: Form, peer: float) -> Iterator[tuple[str, str]]:
    """A link is as fast in both directions."""
    for one in range(form.devices if form.pairs != "none" else 0):
        for other in range(one + 1, form.devices):
            far = one < form.devices // 2 <= other
            share = draw.uniform(0.3, 1) if form.pairs == "any" else 0.25 if far else 1.0
            for way in ((one, other), (other, one)) if share < 1 else ():
                yield "peer_bandwidth %d>%d" % way, f"{peer * share:.4g}"


def model(seed: int) -> tuple[str, int]:
    """The text of the model, and its devices."""
    draw, form = random.Random(seed), form_of(seed)
    devices = form.devices
    units = round(_log_uniform(draw, 24, 300))
    f32 = _log_uniform(draw, 1e11, 8e11)
    memory = _log_uniform(draw, 4e11, 6e12)
    cache = draw.choice((0, 4, 24, 64, 256)) * MIB
    peer = _log_uniform(draw, 1.5e10, 4.5e11)
    # A device injects as much as a link of a switch carries, else up to what all links carry.
    injection = 1 if form.links == "switch" else draw.uniform(1, {"mesh": devices - 1}.get(form.links, 2))
    tile = draw.choice((64, 128, 256))
    columns = draw.choice((tile, min(256, 2 * tile)))
    engine_share = draw.choice((0.5, 1.0))
    registers = draw.choice((256, 512))  # KiB of a unit
    # A library fills a unit: where two tiles of sums fit into its registers a block may get half of it.
    fits_two = 2 * (tile * columns * 4 / 1024 + 8) <= registers
    keys = {
        "like": "default",
        "devices": devices,
        "data": "none",
        "links": form.links,
        "peer_bandwidth": f"{peer:.4g}",
        "injection_bandwidth": f"{peer * injection:.4g}",
        "peer_latency_ns": draw.randrange(200, 1500),
        "units": units,
        "slots_per_unit": draw.choice((2, 4, 8)),
        "registers_per_unit_bytes": f"{registers}K",
        "block_register_bytes": "8K",
        "gemm_tile": tile,
        "gemm_tile_columns": columns,
        "gemm_tile_min": draw.choice((0, 32, 64)),
        "gemm_efficiency": f"{draw.uniform(0.5, 0.95):.3g}",
        "flops_f32": f"{f32:.4g}",
        "flops_bf16": f"{f32 * draw.choice((4, 8, 16)):.4g}",
        "unit_bandwidth": f"{memory / units * draw.uniform(2, 8):.4g}",
        "block_share": draw.choice((0.5, 1)) if fits_two else 1,
        "memory_bytes": "64G",
        "memory_bandwidth": f"{memory:.4g}",
        "llc_bytes": cache,
        "llc_bandwidth": f"{memory * draw.uniform(2, 5):.4g}",
        "llc_tracked": form.llc_tracked,
        "llc_writes": draw.choice(("back", "through")),
        "engine_cache": draw.choice(("bypass", "through")),
        "copy_engines": draw.choice((1, 2, 4, 8)),
        "engine_order": form.engine_order,
        "engine_bandwidth": f"{peer * engine_share:.4g}",
        "engine_weight": draw.choice((1, units)),
        "block_ns": draw.randrange(200, 1000),
        "launch_ns": draw.randrange(1000, 6000),
        "copy_ns": draw.randrange(1000, 6000),
        "jitter_sigma": 0.01,
        "block_jitter_sigma": 0,
        **dict(_pairs(draw, form, peer)),
    }
    lines = (f"{key} = {value}\n" for key, value in keys.items())
    return "".join(lines), devices


if __name__ == "__main__":
    print(model(int(sys.argv[1]))[0], end="")
