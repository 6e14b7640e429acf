# A cluster of Slurm on this host alone, by hand: three nodes n1 to n3 with 4 CPUs each, and a
# partition, main.  Source it in a namespace of its own (network, host name, processes), in an empty
# folder that only the user can change; it leaves SLURM_CONF in the environment.

hostname localhost
ip link set lo up
ip link add lan type bridge && ip addr add 10.77.1.1/24 dev lan && ip link set lan up # Slurm wants more than lo
cluster=$PWD/cluster
mkdir -p "$cluster/state" "$cluster/n1" "$cluster/n2" "$cluster/n3"
chmod 755 . "$cluster"
head -c 1024 /dev/urandom >"$cluster/munge.key"
chmod 600 "$cluster/munge.key"
munged --force --socket="$cluster/munge.sock" --key-file="$cluster/munge.key" --pid-file="$cluster/munged.pid" \
	--log-file="$cluster/munged.log" --seed-file="$cluster/seed" 2>"$cluster/munged.err"
cat >"$cluster/slurm.conf" <<END
ClusterName=bragg
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.sock,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=1
SlurmdParameters=config_overrides
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.%n.log
SlurmctldPort=7817
ReturnToService=2
SlurmdTimeout=5
KillWait=2
MpiDefault=none
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=7821 CPUs=4
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=7822 CPUs=4
NodeName=n3 NodeHostname=localhost NodeAddr=127.0.0.1 Port=7823 CPUs=4
PartitionName=main Nodes=ALL Default=YES MaxTime=60
END
export SLURM_CONF="$cluster/slurm.conf"
slurmctld -c
for node in n1 n2 n3; do slurmd -N $node; done

idle_nodes() {
	[ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 3 ]
}
