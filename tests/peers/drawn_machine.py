# SPDX-License-Identifier: BSD-3-Clause
"""A model of a machine for the simulated device, drawn from a seed: how fast it computes and moves data, how
large and of what law its cache is, how its devices are joined, and what it costs to start work. No machine is
like it, so nothing was fitted to it.

    drawn_machine.py SEED          the model; its second line says how many devices it has
"""

from __future__ import annotations

import math
import random
import sys

MIB = 1 << 20


def _log_uniform(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def model(seed: int) -> tuple[str, int]:
    """The text of the model, and its devices. The seeds in turn have 4, 2 and 8 devices."""
    draw = random.Random(seed)
    devices = (4, 2, 8)[seed % 3]
    units = round(_log_uniform(draw, 24, 300))
    f32 = _log_uniform(draw, 1e11, 8e11)
    memory = _log_uniform(draw, 4e11, 6e12)
    cache = draw.choice((0, 4, 24, 64, 256)) * MIB
    peer = _log_uniform(draw, 1.5e10, 4.5e11)
    links = draw.choice(("mesh", "switch"))
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
        "links": links,
        "peer_bandwidth": f"{peer:.4g}",
        "injection_bandwidth": f"{peer * (draw.uniform(1, devices - 1) if links == 'mesh' else 1):.4g}",
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
        "llc_tracked": draw.choice((0, 1)),
        "llc_writes": draw.choice(("back", "through")),
        "engine_cache": draw.choice(("bypass", "through")),
        "copy_engines": draw.choice((1, 2, 4, 8)),
        "engine_bandwidth": f"{peer * engine_share:.4g}",
        "engine_weight": draw.choice((1, units)),
        "block_ns": draw.randrange(200, 1000),
        "launch_ns": draw.randrange(1000, 6000),
        "copy_ns": draw.randrange(1000, 6000),
        "jitter_sigma": 0.01,
        "block_jitter_sigma": 0,
    }
    lines = (f"{key} = {value}\n" for key, value in keys.items())
    return "".join(lines), devices


if __name__ == "__main__":
    print(model(int(sys.argv[1]))[0], end="")
