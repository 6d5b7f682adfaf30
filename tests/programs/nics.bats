#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# topology/node says which network adapters are near which devices, on machines that hwloc reads from a file and is told to take for
# this one. Links and rates of the adapters are in a folder in place of /sys/bus/pci/devices.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

setup_file() { need_fakes; }

setup() {
	[ -x "$bin/topology/node" ] || skip 'topology/node is not built: no hwloc'
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir pci
}

# machine <<PARTS: hwloc's XML of a machine with two packages, of one NUMA node each. PARTS has a line each, indented by its depth:
# package N, or package N with the number of its NUMA nodes; host BUSES; bridge ADDRESS BUSES; gpu ADDRESS; nic ADDRESS.
machine() { "$TEST_PYTHON" "$root/tests/programs/nics_machine.py" >machine.xml; }

# adapter ADDRESS NAME STATE GBIT: what the system says of an adapter for verbs.
adapter() {
	local port="pci/$1/infiniband/$2/ports/1"
	mkdir -p "$port"
	echo "$3" >"$port/state"
	echo "$4 Gb/sec (4X NDR)" >"$port/rate"
}

# interface ADDRESS NAME STATE MBIT: what it says of one without verbs.
interface() {
	mkdir -p "pci/$1/net/$2"
	echo "$3" >"pci/$1/net/$2/operstate"
	echo "$4" >"pci/$1/net/$2/speed"
}

# node DEVICES: on the fakes; facts alone.
node() {
	run --separate-stderr env HWLOC_XMLFILE=machine.xml HWLOC_THISSYSTEM=1 GPUSIG_PCI_DEVICES=pci "LD_LIBRARY_PATH=$(fakes)" timeout -s KILL \
		"$HANGS_S" "$bin/topology/node" --device "$1" --format json --budget 1ms
	echo "$1: $status $stderr"
	[ "$status" = 0 ]
}

# facts PREFIX...: of the last run, "NAME: VALUE", those whose name begins so.
facts() {
	"$TEST_PYTHON" -c 'import json, sys
rows = map(json.loads, sys.stdin)
for row in rows:
    for name, value in row.get("facts", {}).items():
        if name.startswith(tuple(sys.argv[1:])):
            print(name + ":", value)' "$@" <<<"$output"
}

# page: the report of the last run; sets `found` to its findings.
page() {
	mkdir -p run
	printf '%s\n' "$output" >run/records.jsonl
	(cd "$root" && "$TEST_PYTHON" -m reports.signature.report "$BATS_TEST_TMPDIR/run") >said 2>err || [ $? = 3 ]
	found=$("$TEST_PYTHON" -c 'import json
[print(f["head"], f["text"]) for f in json.load(open("run/signature.json"))["findings"]]')
}
