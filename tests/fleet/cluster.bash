# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A Slurm cluster of several nodes on this machine, of the test's own processes, in a folder: one slurmctld, one munged, a slurmd a
# node. The nodes are names: they share the kernel, the processors and the files of this machine.

cluster_ports() { # COUNT ports that nobody listens on now
	"$TEST_PYTHON" -c 'import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for one in held: one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in held))' "$1"
}

# start_cluster FOLDER COUNT: nodes node1 to nodeCOUNT; exports SLURM_CONF. Fails where the nodes are not idle within a minute.
start_cluster() {
	cluster=$1
	local count=$2 plugins number ports
	mkdir -p "$cluster/state" "$cluster/spool"
	read -ra ports <<<"$(cluster_ports $((count + 1)))"
	plugins=$(dirname "$(PATH=$PATH:/usr/sbin command -v slurmctld)")/../lib
	plugins=$(find "$plugins/" -name auth_munge.so -print -quit)
	export SLURM_CONF=$cluster/slurm.conf
	{
		echo "ClusterName=gpusig
SlurmctldHost=$(uname -n)(127.0.0.1)
SlurmctldPort=${ports[0]}
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.socket
CryptoType=crypto/munge
PluginDir=${plugins%/*}
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool/%n
SlurmdPidFile=$cluster/%n.pid
SlurmdLogFile=$cluster/%n.log
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmctldLogFile=$cluster/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2"
		for ((number = 1; number <= count; number++)); do
			echo "NodeName=node$number NodeAddr=127.0.0.1 NodeHostname=$(uname -n) Port=${ports[number]} CPUs=$(nproc) State=UNKNOWN"
		done
		echo "PartitionName=all Nodes=node[1-$count] Default=YES State=UP"
	} >"$SLURM_CONF"
	dd if=/dev/urandom of="$cluster/munge.key" bs=128 count=1 status=none && chmod 600 "$cluster/munge.key"
	munged --force --key-file "$cluster/munge.key" --socket "$cluster/munge.socket" --pid-file "$cluster/munged.pid" \
		--log-file "$cluster/munged.log" --seed-file "$cluster/munge.seed" 3>&- || return
	slurmctld -f "$SLURM_CONF" 3>&- || return
	for ((number = 1; number <= count; number++)); do
		slurmd -N "node$number" -f "$SLURM_CONF" -d "$(command -v slurmstepd)" 3>&- || return
	done
	for ((number = 0; number < 300; number++)); do
		[ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$count" ] && return
		sleep 0.2
	done
	sinfo
	return 1
}

stop_cluster() {
	local file left
	for file in "$cluster"/node*.pid "$cluster"/slurmctld.pid "$cluster"/munged.pid; do
		[ ! -s "$file" ] || kill "$(cat "$file")" 2>/dev/null
	done
	for ((left = 100; left > 0; left--)); do
		# shellcheck disable=SC2046 # numbers of processes
		ps -p "$(cat "$cluster"/*.pid 2>/dev/null | paste -s -d , -)" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
}
