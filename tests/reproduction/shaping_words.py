# SPDX-License-Identifier: BSD-3-Clause
"""The paragraphs of docs/reproduction/shaping.md; fields in braces are filled by shaping.py."""

HEAD = """\
# Resource-aware overlap, reproduced

Resource-aware overlap (arXiv 2606.09200) against bin/overlap/shaping on simulated devices. Written by

```sh
make reproduction
```

(tests/reproduction/shaping.py; minutes the first time). One case by hand:

```sh
bin/overlap/shaping --device sim:a40:0-3 --scenario cb-ar --tile 64x64x64 --grid 512 --shared SHARED/4 --iterations 20 \\
  --mflop 0 --message 896M
```

**Nothing here is a measurement.** The machines are 4 A40, 4 A100, 4 H100 and the 8 GCDs of 4 MI250X as models in
device/sim/model/machines. Their constants come from data sheets and documents, or are assumed values; each has its source in the
model's file, and none was fitted to this paper. The simulator knows how much a block moves and computes, and which slot, shared
memory and registers it takes (device/sim/README.md). It has no issue slots, no pipelines inside a unit, no L1, no latency that more
residents would hide, no power, no clock that depends on it, and no noise.

The set-up is the paper's: GEMMs of 8192^3 (cb) and 8192 x 57344 x 8192 (mb), allreduce (ar) and all-to-all (a2a) of 896 MiB on
all devices, tiles of 64x64x32 (opt1) and 64x64x64 (opt2), 2 to 1024 blocks that share the tiles of a GEMM. What differs:
elements are f32, so a tile needs twice the shared memory of a two-byte one, and mb's result is twice the message; the
collectives are a direct exchange by kernels of 16 blocks; there are 8 and 20 iterations, as the paper does not give the number;
none is discarded as warm-up, because all rounds are alike.

"reached" says whether the result meets the target; a **miss** is reported as such, with its reason if one was found. The
targets are this project's; the paper has none.
"""

RESIDENTS = """\
## Blocks on a unit

Paper: shared memory alone, of (64 K + K 64) elements a block; derived from the capacities of a unit and the 1 KiB that NVIDIA
adds to a block. Found: resident blocks with this claim that micro/occupancy counts on a unit of the model, with enough slots and
registers. Target: the same.
"""

LIMITS = """\
The GEMMs of overlap/shaping are f32: the rows of 4 B. Shared memory is not the only limit: a block has 256
threads, and the models count its registers (assumed: 32 a thread, and the sums of its tile of a GEMM).
"""

LIMITED = """\
So opt1 and opt2 differ by less than in the paper's table, and the paper's 11, 18 and 25 blocks of two-byte opt1 are impossible
with 256 threads a block. Without a free slot a communication waits although shared memory is left.
"""

GRIDS = """\
## Time ratio over the blocks of the GEMM

Time over that of the serial pipeline, {iterations} iterations: plain overlap / with priority / with priority and a claim of
{claim}, one number where all three are the same. The paper has 2 to 1024 blocks; "all" is a block for each tile.
"""

SHAPE = """\
## Decay towards serial, and its remedy

Lost: the share of the time that the best pipeline hides, t_g + (I-1) max(t_g, t_c) + t_c, and that this one does not: 0 is that
pipeline, 1 is serial. Paper: plain overlap is good at low block counts and decays towards serial as blocks grow, and priority
remedies it. Targets: at most 0.1 is lost up to {low} blocks; at least 0.5 at {last}; with priority (alone, and with a claim) at most
half of that, judged where plain overlap decays. A machine on which nothing is ever lost meets only the first target.
"""

ALL = """\
With a block for each tile, beyond the paper's range, every machine shows the decay, because the communication waits until the
last blocks of the GEMM have started: plain overlap loses at least {overlap:.2f} in every row. Blocks are short then, and with
priority at most {priority:.2f} is lost, with a claim {both:.2f}.
"""

HEADLINE = """\
## The headline: cb-ar on A40

Paper: 25.5 % less time than plain overlap, 0.745 of it, and an overlap rate of up to 90 % on NVIDIA's with priority. Its tiles
shape and its optimisation adds priority, so "priority" is the paper's case; an additional claim is ours. The number of iterations
is not known, so both are given. Targets: a gain within 10 % of 0.255; a rate of at least 0.81, within
10 % of 90 %.
"""

RATE = """\
opt1 with priority alone: {opt1}.

The overlap rate: parts that take different times cannot overlap for 90 % of the time. With {row.grid} blocks a GEMM takes
{gemm} and an allreduce {comm}, and the best pipeline of {row.iterations} of them has a rate of {bound:.3f}; {rate:.3f} is found.
Equal parts have (I-1)/(I+1), 0.78 with 8 and 0.90 with 20. The paper gives no times, and leaves out the first third of its
iterations, which may raise its rate. With messages whose allreduce alone takes as long as the GEMM alone, opt2:
"""

HIGH = """\
## MI250X at high block counts

Paper: the gain is near zero or negative. Target: a normalised time of at least 0.95, with {high} and {last} blocks.
"""

SHARE = """\
Two explanations were tested. First, f32 tiles leave free slots that two-byte ones do not: see the next section, where opt1 takes
all slots of a unit and priority gains nearly nothing.

Second, the paper's own: with little shared memory the GEMM loses concurrency. The model has no such loss: one block of 256
threads may use a whole unit (block_share = 1, assumed), so fewer residents cost nothing (claim_cost is {cost:.2f} at most). If
four blocks were needed to keep a unit busy (sim:mi250x?block_share=0.25), cb-ar would have:
"""

SHARED = """\
Then a claim makes it {least:.2f} to {most:.2f} times as long, a loss as in the paper, and priority gains only with {last}
blocks. This is not a fit: which share of a unit a block of the paper's kernels can use is not known.
"""

TWO_BYTES = """\
## Residents as with elements of two bytes

The GEMMs stay f32, and a unit has enough additional shared memory for the blocks of the paper's table for two-byte tiles, as far
as threads and registers allow. cb-ar, normalised time.
"""

TWO_BYTES_WHY = """\
Without free slots priority alone gains little or nothing: a block of the communication waits for one of the GEMM, which lasts a
large part of it. If plain overlap loses nothing, all blocks are resident and some units have free slots, or the communication is
hidden by the rest of the GEMM. So opt1 on MI250X gains nearly nothing, as in the paper, but not because of lost concurrency. On
A40 the paper does gain, so its kernels probably leave slots free there: their blocks have fewer threads or registers than is
assumed here.
"""

TILES = """\
## Tiles: opt2 over opt1

Time of opt2 over that of opt1, both with priority. Paper: the longer TILE_K is better for memory-bound GEMMs, and equal when
saturated, which is taken here as {last} blocks. Targets: at most 0.98 somewhere in mb; within 2 % of 1 at {last}. A tile
that changes nothing meets the second target, so only the first is meaningful.
"""

TILES_WHY = """\
Why: in the simulator TILE_K costs only its claim of shared memory, so a GEMM alone takes the same time with both tiles, and there
is no longer window of computation. Only residents differ. If opt1 leaves no slot for the communication and opt2 does (A40, see
the first section), opt2 is better, in cb even more than in mb; if both leave slots or neither does, they are equal. With a block
for each tile blocks are short, and waiting for one costs little.
"""

BOUNDS = """\
## Bounds

All {cases} cases of the sweep, {iterations} iterations, every overlapped variant.
"""

BOUNDS_WHY = """\
Slightly below the best pipeline: t_g and t_c are from pipelines of one part, and the serial pipeline has slightly longer gaps
between parts.

Why plain overlap is slower than serial in some cases: blocks that end at the same moment, to the picosecond, free all units
together, and the last blocks of a GEMM spread over them evenly. A communication on some units disturbs that: the units that are
free first take several of the last blocks each, while others idle. So serial is too good, rather than overlap too bad: with
a tenth of a per cent of jitter a block (sim:a40?block_jitter_sigma=0.001, {row.name}, {row.grid} blocks, {row.iterations}
iterations) the GEMM alone takes {noisy} instead of {quiet}, and the time ratio of plain overlap is {noisy_ratio:.3f} instead of
{quiet_ratio:.3f}.
"""

OTHER = """\
## Other reasons

cb-ar on A40 with priority, as modelled, and with one key of the model changed:
"""

REASONS = """\
- **Registers** decide whether a block of the communication finds a slot (first section).
- **The last-level cache.** A GEMM of 64x64 tiles in f32 moves a byte for 16 flops, so on A40 it needs {need:.2f} of the cache's
  {has:.2f} TB/s. A full cache gives each block the same, so the more blocks of a GEMM are resident, the slower the sums of an
  allreduce. A claim, which leaves fewer, gives some of that back.
- **Kernels of the exchange.** The program's collective is a kernel for each peer and step, one after the other, where a vendor's
  is one kernel that keeps its slots. Without free slots each of them waits for blocks of the GEMM again (comm_CIL up to
  {cil:.2f} with priority).
- **The balance of both parts.** A GEMM and an allreduce of cb-ar, alone, with {last} blocks: {parts}. Where one is much shorter
  there is little to hide, with or without priority.
"""
