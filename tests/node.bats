#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What topology/node reports is of the devices that --device names, on a machine that hwloc reads from a file.

# shellcheck disable=SC2154 # run sets status, output, stderr and their lines; helpers sets root
load bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

setup_file() {
	[ -e "$(fakes)/libcuda.so.1" ] || make -C "$root" --no-print-directory fakes
}

setup() {
	[ -x "$bin/topology/node" ] || skip 'topology/node is not built: no hwloc'
	cd "$BATS_TEST_TMPDIR" || return 1
}

fakes() { echo "$(readlink -f "$bin")/../fakes"; }

# object TYPE INDEX SET ATTRIBUTES: the beginning of an object of hwloc's XML, on the processors and nodes of SET.
object() {
	echo "<object type=\"$1\" os_index=\"$2\" gp_index=\"$((++objects))\" cpuset=\"$3\" complete_cpuset=\"$3\" nodeset=\"$3\"
		complete_nodeset=\"$3\" $4"
}

pci() { echo "<object type=\"PCIDev\" gp_index=\"$((++objects))\" pci_busid=\"$1\" pci_type=\"$2 [0000:0000] [0000:0000] a1\" pci_link_speed=\"0\"/>"; }

# machine: two packages; the second has two accelerators and a network adapter.
machine() {
	objects=0
	echo '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">'
	object Machine 0 0x3 'allowed_cpuset="0x3" allowed_nodeset="0x3">'
	for package in 0 1; do
		object Package $package 0x$((package + 1)) '>'
		object NUMANode $package 0x$((package + 1)) 'local_memory="1073741824"/>'
		object PU $package 0x$((package + 1)) '/>'
		[ $package = 0 ] || {
			echo "<object type=\"Bridge\" gp_index=\"$((++objects))\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[00-03]\">"
			pci 0000:01:00.0 0302
			pci 0000:02:00.0 0302
			pci 0000:03:00.0 0200
			echo '</object>'
		}
		echo '</object>'
	done
	echo '</object></topology>'
}

# node DEVICES
node() {
	machine >machine.xml
	run --separate-stderr env HWLOC_XMLFILE=machine.xml "LD_LIBRARY_PATH=$(fakes)" timeout -s KILL 60 "$bin/topology/node" \
		--device "$1" --format json
	echo "$1: $status $stderr"
}

# tree_is TEXT: what is drawn.
tree_is() { json "[c['facts']['tree'] for c in cases] == ['$1']" <<<"$output"; }

MEMORY='NUMANode(1024MB)'

@test "the devices that are named are drawn where they are attached, and no others" {
	node cuda:0,1
	unit='[Cache(1024KB)[Unit#0]]'
	tree_is "Machine#0[Package#0[$MEMORY PU#0] Package#1[$MEMORY PU#1 Device#0$unit Device#1$unit]]"
	json '[[f[n] for n in sorted(f) if n.startswith("device_")] for c in cases for f in [c["facts"]]] == [
		["cuda:0 Fake GPU, 0000:01:00.0, near cores 1", "cuda:1 Fake GPU, 0000:02:00.0, near cores 1"]]' <<<"$output"
	node cuda:1
	tree_is "Machine#0[Package#0[$MEMORY PU#0] Package#1[$MEMORY PU#1 Device#1$unit]]"
	json '[[f[n][:12] for n in sorted(f) if n.startswith("pci_")] for c in cases for f in [c["facts"]]] == [["0000:02:00.0", "0000:03:00.0"]]' \
		<<<"$output"
	node host
	tree_is "Machine#0[Package#0[$MEMORY PU#0] Package#1[$MEMORY PU#1]]"
	json '[[f[n][:12] for n in sorted(f) if n.startswith("pci_")] for c in cases for f in [c["facts"]]] == [["0000:03:00.0"]]' <<<"$output"
}

@test "simulated devices are part of no machine" {
	printf '%s\n' 'like = quiet' 'units = 2' 'llc_bytes = 0' >small.sim
	node sim:./small.sim:2,0
	tree_is 'Simulated[Device#2[Unit#0 Unit#1] Device#0[Unit#0 Unit#1]]'
	json '[sorted(c["facts"]) for c in cases] == [["device_0", "device_1", "tree"]]' <<<"$output"
}

@test "a device that is absent is an error that lists what is there" {
	node cuda:0,7
	[ "$status" = 77 ]
	[[ $stderr == *"no device cuda:7; devices: cuda:0-1; here: cuda, hip, host, sim"* ]]
	json 'cases == []' <<<"$output"
}
