# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Nodes of a cluster on one machine: network namespaces on a bridge, each with a host name of its own, and Open MPI across them.
# Everything is in namespaces of this test: nothing of the machine's network is touched, and what they hold ends with them.

# nodes_open COUNT RATE: nodes n1, n2, ... whose links carry RATE each way; sets `nodes`, the prefix of the namespaces. Fails with
# the reason in `nodes_why` where that is not possible here.
# shellcheck disable=SC2034 # used by the files that load this
nodes_open() {
	local i
	nodes=gpusig$$
	nodes_why=
	[ "$(id -u)" = 0 ] || { nodes_why='network namespaces need root' && return 1; }
	for i in ip tc unshare mpirun; do
		command -v "$i" >/dev/null || { nodes_why="no $i" && return 1; }
	done
	nodes_count=$1
	if ! { ip netns add "$nodes-switch" && ip -n "$nodes-switch" link add bridge type bridge &&
		ip -n "$nodes-switch" link set bridge up; } 2>nodes.err; then
		nodes_why="no network namespaces: $(tail -n 1 nodes.err)"
		return 1
	fi
	for i in $(seq "$1"); do
		ip netns add "$nodes-n$i"
		ip -n "$nodes-n$i" link set lo up
		ip -n "$nodes-n$i" link add eth0 type veth peer name "n$i" netns "$nodes-switch"
		ip -n "$nodes-n$i" address add "10.99.0.$i/24" dev eth0
		ip -n "$nodes-n$i" link set eth0 up
		# A connection must not begin with what an earlier one learned.
		ip netns exec "$nodes-n$i" sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save'
		ip -n "$nodes-switch" link set "n$i" master bridge up
	done
	for i in $(seq "$1"); do
		node_rate "$i" "$2" || { nodes_why='tc has no token buckets here' && return 1; }
	done
	# Open MPI starts this instead of ssh: agent HOST COMMAND.
	cat >agent <<-END
		#!/bin/sh
		host=\$1
		shift
		exec ip netns exec "$nodes-\$host" unshare -u sh -c 'hostname "\$1" && shift && exec sh -c "\$*"' sh "\$host" "\$@"
	END
	chmod +x agent
}

# node_rate I RATE: what node I sends and receives.
node_rate() {
	node_sends "$1" "$2" && tc -n "$nodes-switch" qdisc replace dev "n$1" root tbf rate "$2" burst 16kb limit 4mb
}

# node_sends I RATE: what node I sends alone. All nodes have the same kind of queue, in which a link may get a class of its own.
node_sends() {
	tc -n "$nodes-n$1" qdisc show dev eth0 | grep -q '^qdisc htb' ||
		tc -n "$nodes-n$1" qdisc add dev eth0 root handle 1: htb default 2 || return 1
	node_class "$1" 2 "$2"
}

# node_class I CLASS RATE
node_class() { tc -n "$nodes-n$1" class replace dev eth0 parent 1: classid "1:$2" htb rate "$3" burst 16kb quantum 3028; }

# link_rate I J RATE: what node I sends to node J.
link_rate() {
	node_class "$1" 1 "$3"
	tc -n "$nodes-n$1" filter replace dev eth0 parent 1: protocol ip prio 1 u32 match ip dst "10.99.0.$2/32" flowid 1:1
}

# on_nodes [OPTIONS] PROGRAM ...: mpirun on node n1, one rank a node unless the options say otherwise.
on_nodes() {
	local hosts
	hosts=$(seq -f 'n%g:4' -s , "$nodes_count")
	ip netns exec "$nodes-n1" unshare -u sh -c 'hostname n1 && exec "$@"' sh mpirun --allow-run-as-root --host "$hosts" \
		--mca plm rsh --mca plm_rsh_agent "$PWD/agent" --mca btl tcp,self --mca btl_tcp_if_include eth0 \
		--mca oob_tcp_if_include eth0 --mca pml ob1 --mca mpi_yield_when_idle 1 --bind-to none "$@"
}

# Ends what still runs in the nodes, and removes them. Harmless where there are none.
nodes_close() {
	local name
	for name in $(ip netns list 2>/dev/null | cut -d' ' -f1 | grep "^gpusig$$-"); do
		ip netns pids "$name" 2>/dev/null | xargs -r kill -9 2>/dev/null
		ip netns delete "$name"
	done
	return 0
}

# Four nodes, or a skip. A link carries far less than a busy machine can, so that a window takes longer than waiting for a core.
need_nodes() { nodes_open 4 40mbit || skip "$nodes_why"; }
