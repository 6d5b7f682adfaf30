#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Drain a node that is not fit before a job starts on it. As Prolog of slurm.conf (as root, on each node of a job), or as
# HealthCheckProgram with the argument --health, which is quick enough for an idle node only: see slurm.conf next to this file.
#
# GPUSIG            the checkout or the installed command; its programs must be built
# GPUSIG_REFERENCE  a signature or the folder of several runs; GPUSIG_NOISE a noise floor. Without either only devices, what
#                   earlier jobs left behind and errors are checked
set -u
GPUSIG=${GPUSIG:-/opt/gpusig/gpusig}
node=${SLURMD_NODENAME:-$(hostname -s)}

drain() { scontrol update nodename="$node" state=drain reason="$1"; }

said=$("$GPUSIG" preflight --quiet ${GPUSIG_REFERENCE:+--reference "$GPUSIG_REFERENCE"} ${GPUSIG_NOISE:+--noise "$GPUSIG_NOISE"})
code=$?

# Only a bad node is drained. An undecided one (3) is logged: a neighbour's load is no reason to lose a node.
[ -z "$said" ] || logger -t gpusig -- "$said" 2>/dev/null || true
[ $code -eq 1 ] || exit 0

first=$(printf '%s\n' "$said" | sed -n '1s/^gpusig preflight: [^:]*: //p')
drain "gpusig: ${first:-preflight failed}"
[ "${1-}" = --health ] && exit 0
exit 1 # a failing prolog requeues the job
