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
	suite report "$BATS_TEST_TMPDIR/run" >said 2>err || [ $? = 3 ]
	found=$("$TEST_PYTHON" -c 'import json
[print(f["head"], f["text"]) for f in json.load(open("run/signature.json"))["findings"]]')
}

# eight: as machines of eight devices are built: behind each of eight host bridges a switch with a device and an adapter, and one more
# adapter at each package.
eight() {
	local i=0
	for package in 0 1; do
		echo "package $package"
		for _ in 0 1 2 3; do
			printf '  host %x0-%xf\n    bridge 0000:%x0:01.0 %x0-%xf\n      bridge 0000:%xe:00.0 %x0-%xf\n' $i $i $i $i $i $i $i $i
			printf '        bridge 0000:%xf:00.0 %x0-%xf\n          gpu 0000:%02x:00.0\n' $i $i $i $((++i))
			printf '        bridge 0000:%xf:01.0 %x0-%xf\n          nic 0000:%x8:00.0\n' $i $i $i $i
		done
		printf '  host f%x-f%x\n    nic 0000:f%x:00.0\n' $package $package $package
	done | sed 's/bridge 0000:\(.\):/bridge 0000:0\1:/'
	for i in 1 2 3 4 5 6 7 8; do adapter "0000:${i}8:00.0" "mlx5_$((i - 1))" '4: ACTIVE' 400; done
}

@test "eight devices with an adapter each behind their switch" {
	eight | machine
	interface 0000:f0:00.0 eno1 up 10000
	interface 0000:f1:00.0 eno2 down -1
	FAKE_GPUS=8 node cuda:0-7
	diff - <(facts nearest_nics) <<-'END'
		nearest_nics_0: nics=0 meet=switch
		nearest_nics_1: nics=1 meet=switch
		nearest_nics_2: nics=2 meet=switch
		nearest_nics_3: nics=3 meet=switch
		nearest_nics_4: nics=5 meet=switch
		nearest_nics_5: nics=6 meet=switch
		nearest_nics_6: nics=7 meet=switch
		nearest_nics_7: nics=8 meet=switch
	END
	diff - <(facts nic_0 nic_4 nic_9 nic_path_1_) <<-'END'
		nic_0: rdma=mlx5_0 bus=0000:18:00.0 numa_node=0 link=up bytes_per_s=5e+10
		nic_4: interface=eno1 bus=0000:f0:00.0 numa_node=0 link=up bytes_per_s=1.25e+09
		nic_9: interface=eno2 bus=0000:f1:00.0 numa_node=1 link=down
		nic_path_1_0: meet=numa_node
		nic_path_1_1: meet=switch port=0000:1e:00.0
		nic_path_1_2: meet=numa_node
		nic_path_1_3: meet=numa_node
		nic_path_1_4: meet=numa_node
		nic_path_1_5: meet=system
		nic_path_1_6: meet=system
		nic_path_1_7: meet=system
		nic_path_1_8: meet=system
		nic_path_1_9: meet=system
	END
	page
	[ -z "$found" ]
	grep -q 'The nearest network adapter is behind one PCIe switch with each device.' run/report.html
}

@test "every distance there is, by the words of the vendors' tools" {
	machine <<-'END'
		package 0 2
		  node 0
		    host 00-0f
		      bridge 0000:00:01.0 01-04
		        bridge 0000:03:00.0 01-04
		          bridge 0000:04:00.0 01-01
		            gpu 0000:01:00.0
		            nic 0000:01:00.1
		          bridge 0000:04:01.0 05-05
		            nic 0000:05:00.0
		          bridge 0000:04:02.0 06-08
		            bridge 0000:06:00.0 07-08
		              bridge 0000:07:00.0 08-08
		                nic 0000:08:00.0
		      bridge 0000:00:02.0 09-09
		        nic 0000:09:00.0
		    host 10-1f
		      nic 0000:10:00.0
		  node 1
		    host 20-2f
		      nic 0000:20:00.0
		package 1
		  host 30-3f
		    nic 0000:30:00.0
		    gpu 0000:02:00.0
		host 40-4f
		  nic 0000:40:00.0
	END
	node cuda:0,1
	diff - <(facts nic_path_0 nearest) <<-'END'
		nic_path_0_0: meet=device
		nic_path_0_1: meet=switch port=0000:03:00.0
		nic_path_0_2: meet=switches port=0000:03:00.0
		nic_path_0_3: meet=host_bridge
		nic_path_0_4: meet=numa_node
		nic_path_0_5: meet=package
		nic_path_0_6: meet=system
		nic_path_0_7: meet=unknown
		nearest_nics_0: nics=0 meet=device
		nearest_nics_1: nics=6 meet=host_bridge
	END
	page
	[ -z "$found" ]
	for words in 'one PCI device' 'one PCIe switch' 'PCIe switches' 'one host bridge' 'one NUMA node' 'one package' 'across sockets'; do
		grep -q ">$words<" run/report.html
	done
	grep -q 'The nearest network adapter is on the PCI device of cuda:0 and at the host bridge of cuda:1.' run/report.html
}

# lopsided NICS: two packages with a device each; the adapters are all at the first one.
lopsided() {
	printf '%s\n' 'package 0' '  host 00-0f' '    gpu 0000:01:00.0' "$@" 'package 1' '  host 80-8f' '    gpu 0000:02:00.0' | machine
}

@test "a device whose only adapter is across sockets" {
	lopsided '    nic 0000:03:00.0' '    nic 0000:03:00.1'
	node cuda:0,1
	diff - <(facts nearest) <<-'END'
		nearest_nics_0: nics=0,1 meet=host_bridge
		nearest_nics_1: nics=0,1 meet=system
	END
	page
	[ -z "$found" ]
	grep -q 'The nearest network adapter is at the host bridge of cuda:0 and across sockets from cuda:1.' run/report.html
	lopsided '    nic 0000:03:00.0' '    nic 0000:04:00.0'
	node cuda:0,1
	page
	[ "$found" = 'No adapter at the socket. cuda:1 reaches the nearest of the fastest network adapters across sockets.' ]
	grep -q '^! No adapter at the socket' said
}

@test "the nearest is one of the fastest whose link is not down, and none if one of unknown place might be nearer" {
	lopsided '    nic 0000:03:00.0' '    nic 0000:04:00.0' '    nic 0000:05:00.0'
	adapter 0000:03:00.0 mlx5_0 '1: DOWN' 400
	adapter 0000:04:00.0 mlx5_1 '4: ACTIVE' 200
	interface 0000:05:00.0 eno1 up 1000
	node cuda:0,1
	[ "$(facts nearest_nics_0)" = 'nearest_nics_0: nics=1 meet=host_bridge' ]
	adapter 0000:03:00.0 mlx5_0 '4: ACTIVE' 200
	node cuda:0,1
	[ "$(facts nearest_nics_0)" = 'nearest_nics_0: nics=0,1 meet=host_bridge' ]
	adapter 0000:03:00.0 mlx5_0 '1: DOWN' 400
	adapter 0000:04:00.0 mlx5_1 '2: INIT' 200
	interface 0000:05:00.0 eno1 down -1
	node cuda:0,1
	[ -z "$(facts nearest)" ]
	mkdir pci/0000:03:00.0/physfn
	node cuda:0,1
	[[ $(facts nic_0) == 'nic_0: rdma=mlx5_1 '* ]]
	printf '%s\n' 'package 0' '  host 00-0f' '    gpu 0000:01:00.0' 'package 1' '  host 80-8f' '    gpu 0000:02:00.0' '    nic 0000:81:00.0' \
		'host 90-9f' '  nic 0000:90:00.0' | machine
	node cuda:0,1
	[ "$(facts nearest)" = 'nearest_nics_1: nics=0 meet=host_bridge' ]
}

@test "no module for peer memory is told with what was looked for, and dma-buf as the driver tells it" {
	[ ! -e /sys/module/nvidia_peermem ] || skip 'there is one here'
	lopsided '    nic 0000:03:00.0'
	FAKE_BOARD=1.dma_buf=0 node cuda:0,1
	diff - <(facts peer_memory dma_buf) <<-'END'
		peer_memory: found=none looked_for=/sys/module/nvidia_peermem/version,/sys/module/nv_peer_mem/version,/sys/kernel/mm/memory_peers/nv_mem/version,/sys/kernel/mm/memory_peers/nv_mem_nc/version
		dma_buf_0: yes
		dma_buf_1: no
	END
	page
	grep -q 'no module for peer memory was found (no /sys/module/nvidia_peermem/version, ' run/report.html
	node hip:0,1
	[[ $(facts peer_memory) == 'peer_memory: found=none looked_for=/sys/kernel/mm/memory_peers/amdkfd/version,'* ]]
	[ -z "$(facts dma_buf)" ]
	node host
	[ -z "$(facts peer_memory nic_path nearest)" ]
}

@test "in a virtual machine no distance is told without a topology of the user's" {
	grep -qw hypervisor /proc/cpuinfo || skip 'no virtual machine'
	grep -q '^0x02' /sys/bus/pci/devices/*/class 2>/dev/null || skip 'no network adapter'
	run -0 --separate-stderr env "LD_LIBRARY_PATH=$(fakes)" "$bin/topology/node" --device cuda:0 --format json --budget 1ms
	[ "$(facts nic_path)" = 'nic_paths_unknown: a virtual machine has buses of its own' ]
	[ -z "$(facts nearest)" ]
}
