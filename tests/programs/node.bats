#!/usr/bin/env bats
# bats file_tags=all
# SPDX-License-Identifier: BSD-3-Clause
# topology/node reports the devices that --device names, on a machine that hwloc reads from a file and is told to take for this
# one.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr and their lines; helpers sets root
load ../bats/helpers

bin=${GPUSIG_BIN:-$root/bin}

setup_file() { need_fakes; }

setup() {
	[ -x "$bin/topology/node" ] || skip 'topology/node is not built: no hwloc'
	cd "$BATS_TEST_TMPDIR" || return 1
}

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

# node DEVICES: on the fakes, or those in $drivers; facts alone.
node() {
	machine >machine.xml
	run --separate-stderr env HWLOC_XMLFILE=machine.xml HWLOC_THISSYSTEM=1 "LD_LIBRARY_PATH=${drivers:-$(fakes)}" timeout -s KILL "$HANGS_S" "$bin/topology/node" \
		--device "$1" --format json --budget 1ms
	echo "$1: $status $stderr"
}

# tree_is TEXT: what is drawn.
tree_is() { json "[c['facts']['tree'] for c in cases] == ['$1']" <<<"$output"; }

MEMORY='NUMANode(1024MB)'

@test "the devices that are named are drawn where they are attached, and no others" {
	node cuda:0,1
	unit='[Cache(1024KB)[Unit#0]]'
	links='(PCIe 5 x16, 4 NVLink)'
	tree_is "Machine#0[Package#0[$MEMORY PU#0] Package#1[$MEMORY PU#1 Device#0$links$unit Device#1$links$unit]]"
	json '[[f[n] for n in sorted(f) if n.startswith("device_")] for c in cases for f in [c["facts"]]] == [
		["cuda:0 Fake GPU, 0000:01:00.0, near cores 1", "cuda:1 Fake GPU, 0000:02:00.0, near cores 1"]]' <<<"$output"
	node cuda:1
	tree_is "Machine#0[Package#0[$MEMORY PU#0] Package#1[$MEMORY PU#1 Device#1$links$unit]]"
	json '[[f[n][:12] for n in sorted(f) if n.startswith("pci_")] for c in cases for f in [c["facts"]]] == [["0000:02:00.0", "0000:03:00.0"]]' \
		<<<"$output"
	node host
	tree_is "Machine#0[Package#0[$MEMORY PU#0] Package#1[$MEMORY PU#1]]"
	json '[[f[n][:12] for n in sorted(f) if n.startswith("pci_")] for c in cases for f in [c["facts"]]] == [["0000:03:00.0"]]' <<<"$output"
}

# interleaved: two packages of 32 processors, with even and with odd numbers, and a network adapter at the second.
interleaved() {
	objects=0
	echo '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">'
	object Machine 0 0xffffffff,0xffffffff 'allowed_cpuset="0xffffffff,0xffffffff" allowed_nodeset="0x3">'
	for package in 0 1; do
		set=0x55555555,0x55555555
		[ $package = 0 ] || set=0xaaaaaaaa,0xaaaaaaaa
		object Package $package $set '>' | sed "s/nodeset=\"[^\"]*\"/nodeset=\"0x$((package + 1))\"/g"
		objects=$((objects + 1))
		echo "<object type=\"NUMANode\" os_index=\"$package\" gp_index=\"$((++objects))\" cpuset=\"$set\" complete_cpuset=\"$set\"
			nodeset=\"0x$((package + 1))\" complete_nodeset=\"0x$((package + 1))\" local_memory=\"1073741824\"/>"
		for ((pu = package; pu < 64; pu += 2)); do
			mask=$(printf '0x%08x,0x%08x' $(((1 << pu) >> 32 & 0xffffffff)) $((1 << pu & 0xffffffff)))
			echo "<object type=\"PU\" os_index=\"$pu\" gp_index=\"$((++objects))\" cpuset=\"$mask\" complete_cpuset=\"$mask\"
				nodeset=\"0x$((package + 1))\" complete_nodeset=\"0x$((package + 1))\"/>"
		done
		[ $package = 0 ] || {
			echo "<object type=\"Bridge\" gp_index=\"$((++objects))\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[00-03]\">"
			pci 0000:03:00.0 0200
			echo '</object>'
		}
		echo '</object>'
	done
	echo '</object></topology>'
}

@test "a list of cores is whole, however long it is" {
	interleaved >interleaved.xml
	run -0 --separate-stderr env HWLOC_XMLFILE=interleaved.xml HWLOC_THISSYSTEM=1 "$bin/topology/node" --device host --format json --budget 1ms
	json "[c['facts']['pci_device_0'].partition('near cores ')[2] for c in cases] == [','.join(map(str, range(1, 64, 2)))]" <<<"$output"
}

# refused WORDS: the last run reported nothing, for this reason, and no fact can enter a signature.
refused() {
	echo "$status $output $stderr"
	[ "$status" = 77 ]
	json "[(c['status'], c['facts'], c['derived']) for c in cases] == [('skipped', {}, [])]" <<<"$output"
	json "all('$1' in c['reason'] for c in cases)" <<<"$output"
}

@test "a topology that is not of this system is of a file, and nothing of it is reported" {
	machine >machine.xml
	mkdir -p root/sys
	for set in HWLOC_XMLFILE=machine.xml 'HWLOC_SYNTHETIC=pack:24 core:8 pu:2' HWLOC_FSROOT=root HWLOC_THISSYSTEM=0; do
		run --separate-stderr env "$set" "$bin/topology/node" --device host --format json --budget 1ms
		refused 'is of a file, not of this machine'
		json "[r['provenance']['environment'].get('${set%%=*}') for r in rows if r['kind'] == 'run'] == ['${set#*=}']" <<<"$output"
	done
}

@test "what hwloc does not know is no fact, instead of 0" {
	for set in x86,stop no_os,stop; do
		run -0 --separate-stderr env HWLOC_COMPONENTS="$set" "$bin/topology/node" --device host --format json --budget 1ms
		json 'len(cases) == 1 and 0 not in cases[0]["facts"].values() and "memory_bytes" not in cases[0]["facts"]' \
			'cases[0]["facts"]["hardware_threads"] > 0 and "()" not in cases[0]["facts"]["tree"]' <<<"$output"
	done
}

@test "a masked list of NUMA nodes, which hwloc asserts is not empty, is refused with the reason" {
	mkdir -p root/sys/devices/system/node root/sys/devices/system/cpu/cpu0/topology
	echo 0 | tee root/sys/devices/system/cpu/online root/sys/devices/system/cpu/cpu0/topology/{physical_package_id,core_id,thread_siblings,core_siblings,thread_siblings_list,core_siblings_list} >/dev/null
	run --separate-stderr env HWLOC_FSROOT=root "$bin/topology/node" --device host --format json --budget 1ms
	refused '/sys/devices/system/node is empty'
}

@test "plug-ins of hwloc that open GPUs are not asked" {
	plugins=$(ldd "$bin/topology/node" | sed -n 's,.*=> \(.*\)/libhwloc.so.*,\1/hwloc,p')
	[ -e "$plugins/hwloc_opencl.so" ] || skip "no plug-in of hwloc's for OpenCL"
	printf '#include <stdlib.h>\n' >opencl.c
	printf 'int %s(void) { abort(); }\n' clGetPlatformIDs clGetPlatformInfo clGetDeviceIDs clGetDeviceInfo >>opencl.c
	cc -shared -fPIC -o libOpenCL.so.1 opencl.c
	run -0 --separate-stderr env -u HWLOC_PLUGINS_PATH LD_LIBRARY_PATH=. "$bin/topology/node" --device host --format json --budget 1ms
	json '[c["status"] for c in cases] == ["ok"]' <<<"$output"
}

# latencies BUDGET CPUS [none]: of these processors; the record fits the schema and, unless there are none, its statistics are right.
latencies() {
	run --separate-stderr taskset -c "$2" timeout -s KILL "$HANGS_S" "$bin/topology/node" --device host --format json --budget "$1"
	[ "$status" = 0 ]
	printf '%s\n' "$output" >latencies.jsonl
	"$TEST_PYTHON" "$root/tests/bats/fits_schema.py" "$root/reports/schema/record.schema.json" latencies.jsonl
	"$TEST_PYTHON" "$root/tests/method/recompute.py" latencies.jsonl >/dev/null || [ "${3:-}" = none ]
}

@test "the latency from core to core is measured of every pair, and of one processor there is none" {
	mapfile -t cpus < <("$TEST_PYTHON" -c 'import os; print(*sorted(os.sched_getaffinity(0))[:3], sep="\n")')
	latencies 1s "${cpus[0]}" none
	json '[(c["derived"], c["facts"]["core_latency_not_measured"]) for c in cases] == [([], "the process may use one processor")]' <<<"$output"
	[ "${#cpus[@]}" -gt 1 ] || skip 'there is one processor'
	latencies 1ms "$(IFS=, && echo "${cpus[*]}")" none
	json '[(c["derived"], c["facts"]["core_latency_not_measured"]) for c in cases] == [([], "needs 50 ms; less is left")]' <<<"$output"
	latencies 200ms "$(IFS=, && echo "${cpus[*]}")"
	json 'all(d["unit"] == "s" and d["valid"] and 1e-9 < d["value"] < 1 and 3 <= d["rounds"] == len(d["observations"]) <= 15
		for c in cases for d in c["derived"])' <<<"$output"
	pairs=$("$TEST_PYTHON" -c 'import itertools, sys
print(*("core_latency %s-%s" % pair for pair in itertools.combinations(sys.argv[1:], 2)), sep="|")' "${cpus[@]}")
	json "[[d['name'] for d in c['derived']] for c in cases] == [['core_latency_min', 'core_latency_median', 'core_latency_max',
		*'$pairs'.split('|')]]" <<<"$output"
	json 'all("core_latency_not_measured" not in c["facts"] for c in cases)' <<<"$output"
	[ -z "$(findings)" ]
	grep -q "From one of ${#cpus[@]} processors to another, a cache line takes [0-9.]*.[nµm]s" run/report.html
}

@test "simulated devices are part of no machine" {
	printf '%s\n' 'like = quiet' 'units = 2' 'llc_bytes = 0' >small.sim
	node sim:./small.sim:2,0
	tree_is 'Simulated[Device#2[Unit#0 Unit#1] Device#0[Unit#0 Unit#1]]'
	json '[sorted(c["facts"]) for c in cases] == [["device_0", "device_1", "link_0_0", "link_1_0", "numa_node_0", "numa_node_1",
		"path_0_1", "tree"]]' <<<"$output"
}

@test "simulated devices report the links of their model" {
	printf '%s\n' 'like = quiet' 'link_up_bandwidth = 20e9' 'link_down_bandwidth = 30e9' 'peer_bandwidth = 50e9' \
		'peer_bandwidth 0>2 = 12.5e9' 'injection_bandwidth = 40e9' >links.sim
	node sim:./links.sim:0-2
	diff - <(facts link_0_0 path_0_1 path_0_2 path_1_2 path_2_0 path_1_0 path_2_1) <<-'END'
		kind=link to=host up=1 down=0 bytes_per_s=3e+10 out_bytes_per_s=2e+10 errors=0
		kind=link access=yes hops=1 bytes_per_s=4e+10
		kind=link access=yes hops=1 bytes_per_s=1.25e+10
		kind=link access=yes hops=1 bytes_per_s=4e+10
		kind=link access=yes hops=1 bytes_per_s=4e+10
		None
		None
	END
	[ "$(findings)" = '' ]
	printf '%s\n' 'like = quiet' 'lacks = peer' >alone.sim
	node sim:./alone.sim:0,1
	[ "$(facts link_1_0 path_0_1 | paste -sd '|')" = \
		'kind=link to=host up=1 down=0 bytes_per_s=2.5e+10 errors=0|access=not_supported' ]
}

@test "a device that is absent is an error that lists what is there" {
	node cuda:0,7
	[ "$status" = 77 ]
	[[ $stderr == *"no device cuda:7; devices: cuda:0-1; here: cuda, hip, host, sim"* ]]
	json 'cases == []' <<<"$output"
}

# facts NAME...: these facts of the only case.
facts() { "$TEST_PYTHON" -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin if line.strip()]
found = next(r["facts"] for r in rows if r["kind"] == "case")
[print(found.get(name)) for name in sys.argv[1:]]' "$@" <<<"$output"; }

# findings: what the first screen says about the machine.
findings() {
	mkdir -p run && printf '%s\n' "$output" >run/records.jsonl
	suite report "$BATS_TEST_TMPDIR/run" >said 2>err || [ $? = 3 ]
	"$TEST_PYTHON" -c 'import json
[print(f["head"], f["text"]) for f in json.load(open("run/signature.json"))["findings"]]'
}

@test "what joins GPUs to the host and to each other, and that nothing is wrong" {
	node cuda:0,1
	diff - <(facts link_0_0 link_0_1 path_0_1 memory_errors_1) <<-'END'
		kind=PCIe to=host generation=5 generation_max=5 device_generation_max=5 lanes=16 lanes_max=16 read=idle
		kind=NVLink to=device_1 up=4 down=0 version=3.0 bytes_per_s=2.578e+10 errors=0
		kind=NVLink meet=host_bridge access=yes
		ecc_uncorrected=0 ecc_corrected=0 ecc_uncorrected_total=0 ecc_corrected_total=0 rows_remapped_uncorrected=0 rows_remapped_corrected=0 row_remap_pending=0 row_remap_failed=0
	END
	[ -z "$(findings)" ]
	grep -q '4 × NVLink 3.0, 103 GB/s each way' run/report.html
	node hip:0,1
	diff - <(facts link_0_0 link_0_1 path_0_1 memory_errors_0) <<-'END'
		kind=PCIe to=host generation=4 generation_max=4 lanes=16 lanes_max=16 read=idle
		kind=xGMI to=device_1 up=1 down=0 bytes_per_s=1e+11 errors=0
		kind=xGMI access=yes hops=1 bytes_per_s=1e+11
		ecc_uncorrected=0 ecc_corrected=0 pages_retired=0 pages_pending=0 pages_failed=0
	END
	[ -z "$(findings)" ]
}

@test "addresses with letters, links to several switches, and boards without a bridge" {
	FAKE_BOARD='pci_bus=0xae' node cuda:0,1
	[[ $(facts link_0_1) == 'kind=NVLink to=device_1 up=4 '* ]]
	FAKE_BOARD='pci_bus=0xae' node hip:0,1
	[[ $(facts link_0_1) == 'kind=xGMI to=device_1 up=1 '* ]]
	FAKE_BOARD='pci_bus=0xae' node cuda:1
	[[ $(facts link_0_1) == 'kind=NVLink to=0000:ae:00.0 up=4 '* ]]
	FAKE_BOARD='nvlinks=18,nvlink_switch=4,1.nvlink_17=0' node cuda:0,1
	diff - <(facts link_0_1 link_0_2 link_1_1 link_1_2) <<-'END'
		kind=NVLink to=switch up=18 down=0 version=3.0 bytes_per_s=2.578e+10 errors=0
		None
		kind=NVLink to=switch up=17 down=0 version=3.0 bytes_per_s=2.578e+10 errors=0
		kind=NVLink to=unknown up=0 down=1 errors=0
	END
	[ "$(findings)" = 'NVLink down. cuda:1 has 17 of 18 links up.' ]
	grep -q '18 × NVLink 3.0, 464 GB/s each way through a switch' run/report.html
	FAKE_BOARD='nvlinks=4,nvlink_0=0,nvlink_1=0,nvlink_2=0,nvlink_3=0' node cuda:0,1
	[[ $(facts link_0_1) == 'kind=NVLink to=unknown up=0 down=4 '* ]]
	[ -z "$(findings)" ]
	FAKE_BOARD='nvlinks=6,nvlinks_of_board=4' node cuda:0,1
	[[ $(facts link_0_1) == 'kind=NVLink to=device_1 up=4 down=0 '* ]]
	FAKE_BOARD='nvlinks=0' node cuda:0,1
	[[ $(facts link_0_1 path_0_1 | paste -sd ' ') == 'None kind=PCIe meet=host_bridge access=yes' ]]
}

@test "a link below its maximum and a memory error are on the first screen" {
	FAKE_BOARD='0.pcie_width=8,1.pcie_generation=4,1.nvlink_3=0,1.ecc_uncorrected=2,0.remap_pending=1' node cuda:0,1
	diff - <(findings) <<-'END'
		PCIe below its maximum. cuda:0 has PCIe 5 x8 of x16 and cuda:1 has PCIe 4 of 5 x16.
		NVLink down. cuda:1 has 3 of 4 links up.
		Memory errors. cuda:0 has 1 remapping of rows that waits for a reset and cuda:1 has 2 uncorrected ECC errors since the driver was loaded.
	END
	grep -q '^! PCIe below its maximum' said
	grep -q 'PCIe below its maximum' run/report.html
	FAKE_BOARD='1.pcie_width=8,0.xgmi_1=0,1.ecc_uncorrected=1,0.pages_pending=3' node hip:0,1
	diff - <(findings) <<-'END'
		PCIe below its maximum. hip:1 has PCIe 4 x8 of x16.
		xGMI down. hip:0 has 0 of 1 and hip:1 has 0 of 1 links up.
		Memory errors. hip:0 has 3 memory pages to be retired at the next reset and hip:1 has 1 uncorrected ECC error since the driver was loaded.
	END
}

@test "an idle link that wakes up while the device copies is no finding" {
	FAKE_BOARD='pcie_wakes=3' node cuda:0
	[[ $(facts link_0_0) == *'generation=5 generation_max=5 '*' read=busy' ]]
	[ -z "$(findings)" ]
	FAKE_BOARD='0.pcie_generation=3' node cuda:0
	[[ $(facts link_0_0) == *'generation=3 generation_max=5 '*' read=busy' ]]
	[[ $(findings) == 'PCIe below its maximum. cuda:0 has PCIe 3 of 5 x16.' ]]
}

@test "what a management library cannot tell is unknown, with the reason" {
	FAKE_FAIL=nvmlDeviceGetNvLinkState:1=15 node cuda:0
	[[ $(facts link_0_1) == 'kind=NVLink to=unknown unknown='?* ]]
	[ -z "$(findings)" ]
	FAKE_FAIL=nvmlInit_v2:1=999 node cuda:0
	[[ $(facts link_0_0) == 'kind=PCIe to=host read=idle unknown=nvmlInit_v2: '* ]]
	FAKE_FAIL=nvmlDeviceGetTotalEccErrors=999 node cuda:0
	[[ $(facts memory_errors_0) == 'rows_remapped_uncorrected=0 '*' unknown=Unknown Error' ]]
	FAKE_BOARD=rows=0,retired_uncorrected=3,retire_pending=1 node cuda:0
	[[ $(facts memory_errors_0) == *' pages_retired_uncorrected=3 pages_retired_corrected=0 pages_pending=1 unknown=not supported by this device (NVML)' ]]
	[ "$(findings)" = 'Memory errors. cuda:0 has 1 memory page to be retired at the next reset.' ]
	node host
	[ "$(facts link_0_0 path_0_1 memory_errors_0 | sort -u)" = None ]
}

@test "an older management library lacks functions: what they tell is unknown, and the rest is told" {
	local drivers word
	for function in nvmlDeviceGetNvLinkState nvmlDeviceGetNvLinkRemoteDeviceType rsmi_topo_get_link_type; do
		without "$function"
		case $function in
		nvmlDeviceGetNvLinkState) word='kind=NVLink to=unknown unknown=this version of NVML has no function for it' ;;
		nvmlDeviceGetNvLinkRemoteDeviceType)
			word='kind=NVLink to=device_1 up=4 down=0 version=3.0 bytes_per_s=2.578e+10 errors=0 unknown=the other end: this version of NVML has no function for it'
			;;
		*) word='kind=xGMI to=unknown unknown=links to devices: this version of ROCm SMI has no function for it' ;;
		esac
		case $function in rsmi*) node hip:0,1 ;; *) node cuda:0,1 ;; esac
		[ "$(facts link_0_1)" = "$word" ]
		[[ $(facts link_0_0) == 'kind=PCIe to=host generation='* ]]
		[ -z "$(findings)" ]
	done
}
