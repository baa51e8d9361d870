#!/usr/bin/env bash
# A real Slurm on this machine, for tests: munged, slurmctld, one slurmd for each node, and slurmdbd with MariaDB.
# Everything listens on loopback only and lies in one folder.
#
#   scripts/slurm-lab.sh install              Debian's packages, if they are missing (as root)
#   scripts/slurm-lab.sh up DIR               brings a cluster up in DIR and prints the SLURM_CONF to export
#   scripts/slurm-lab.sh down DIR             ends everything of it, also what an earlier run left behind
#   scripts/slurm-lab.sh start DIR NAME       starts one part again: munged, mariadbd, slurmdbd, slurmctld, slurmd-n1 ...
#   scripts/slurm-lab.sh stop DIR NAME [SIG]  ends one part, with SIGTERM or another signal
#
# In the environment:
#   LAB_NODES       the GPUs of each node; six nodes with 24 GPUs of three types by default
#   LAB_PORT        the first of 400 ports; by default the first free block
#   LAB_ACCOUNTING  0: without slurmdbd and MariaDB, which take some seconds to start
#   LAB_OWNER       a process: when it is gone the cluster is taken down and DIR removed
#   LAB_KEEP        1: `up` keeps the jobs and the accounting that an earlier run in DIR left
#
# The GPUs are links to /dev/null: Slurm only wants a character device. It works as root, where slurmctld gets a user of
# its own as on a cluster, and as an ordinary user, where everything runs as that user.
set -euo pipefail

LAB_NODES=${LAB_NODES:-rtx3070:4 rtx3070:4 rtx3080:4 rtx3080:4 rtx3090:4 rtx3090:4}
LAB_ACCOUNTING=${LAB_ACCOUNTING:-1}
PORTS=400
PATH=$PATH:/usr/sbin:/sbin

fail() { echo "slurm-lab: $*" >&2; exit 1; }

me=$(id -un)
if [ "$(id -u)" = 0 ]; then
    munge_user=munge slurm_user=slurm sql_user=mysql
else
    munge_user=$me slurm_user=$me sql_user=$me
fi

# ---- packages ----------------------------------------------------------------------------------------------------

programs=(munged slurmctld slurmd sbatch slurmdbd sacctmgr mariadbd mariadb-install-db)
packages=(munge slurmctld slurmd slurm-client slurmdbd mariadb-server slurm-wlm-basic-plugins slurm-wlm-mysql-plugin)

install_packages() {
    local missing=() program made=
    for program in "${programs[@]}"; do command -v "$program" >/dev/null || missing+=("$program"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || fail "${missing[*]} are missing, and this is not Debian: install Slurm, munge and MariaDB"
    [ "$(id -u)" = 0 ] || fail "${missing[*]} are missing: run \`scripts/slurm-lab.sh install\` once as root"
    # The packages would start services of their own, which nobody has configured.
    if [ ! -e /usr/sbin/policy-rc.d ]; then
        printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
        chmod 755 /usr/sbin/policy-rc.d
        made=1
    fi
    local apt=(apt-get -o DPkg::Lock::Timeout=300) log
    log=$(mktemp)
    "${apt[@]}" update -qq >"$log" 2>&1 || true
    DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y -qq --no-install-recommends "${packages[@]}" >"$log" 2>&1 ||
        { tail -n 20 "$log" >&2; fail "the packages could not be installed"; }
    rm -f "$log"
    [ -z "$made" ] || rm -f /usr/sbin/policy-rc.d
}

# ---- processes ---------------------------------------------------------------------------------------------------

# Starts a program in a session of its own, as a user, and notes its process.
launch() { # NAME USER COMMAND...
    local name=$1 user=$2
    shift 2
    local as=()
    [ "$user" = "$me" ] || as=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups --)
    setsid "${as[@]}" "$@" </dev/null >>"$dir/log/$name.out" 2>&1 9>&- &
    echo $! >"$dir/pids/$name"
}

# The process of a part, if it still is the program that was started. Nobody else has the folder among its arguments
# or in its environment.
pid_of() { # NAME
    local pid
    pid=$(cat "$dir/pids/$1" 2>/dev/null) || return 1
    [ -n "$pid" ] && [ -d "/proc/$pid" ] || return 1
    grep -qzF -- "$dir/" "/proc/$pid/cmdline" 2>/dev/null ||
        grep -qzxF -- "SLURM_CONF=$dir/etc/slurm.conf" "/proc/$pid/environ" 2>/dev/null || return 1
    echo "$pid"
}

stop_part() { # NAME [SIGNAL]
    local pid
    pid=$(pid_of "$1") || { rm -f "$dir/pids/$1"; return 0; }
    kill "-${2:-TERM}" "$pid" 2>/dev/null || true
    for _ in $(seq 100); do
        [ -d "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null || { rm -f "$dir/pids/$1"; return 0; }
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
    rm -f "$dir/pids/$1"
}

start_part() { # NAME
    local name=$1
    pid_of "$name" >/dev/null && return 0
    case $name in
        munged)
            rm -f "$dir"/run/munge/munge.socket*
            launch munged "$munge_user" munged --foreground --force --num-threads=2 "--key-file=$dir/munge/key" \
                "--socket=$dir/run/munge/munge.socket.2" "--pid-file=$dir/munge/munged.pid" \
                "--log-file=$dir/munge/munged.log" "--seed-file=$dir/munge/seed"
            await "munged" test -S "$dir/run/munge/munge.socket.2"
            ;;
        mariadbd)
            launch mariadbd "$sql_user" mariadbd --no-defaults "--datadir=$dir/sql" "--socket=$dir/run/sql/socket" \
                "--pid-file=$dir/sql/mariadbd.pid" --bind-address=127.0.0.1 "--port=$((port + 2))" \
                --innodb-buffer-pool-size=32M --innodb-log-file-size=8M \
                --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=2
            await "MariaDB" sql "select 1"
            ;;
        slurmdbd)
            launch slurmdbd "$slurm_user" env "SLURM_CONF=$dir/etc/slurm.conf" slurmdbd -D
            await "slurmdbd" listens $((port + 1))
            ;;
        slurmctld)
            launch slurmctld "$slurm_user" env "SLURM_CONF=$dir/etc/slurm.conf" slurmctld -D
            await "slurmctld" controller_answers
            ;;
        slurmd-*) launch "$name" "$me" env "SLURM_CONF=$dir/etc/slurm.conf" slurmd -D -N "${name#slurmd-}" ;;
        *) fail "there is no part \`$name\`" ;;
    esac
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
controller_answers() { timeout 3 scontrol ping 2>/dev/null | grep -q "is UP"; }
sql() { mariadb --no-defaults "--socket=$dir/run/sql/socket" -u "$([ "$sql_user" = mysql ] && echo root || echo "$me")" -N -e "$1"; }

await() { # WHAT COMMAND...
    local what=$1
    shift
    local end=$((SECONDS + 40))
    while [ $SECONDS -lt $end ]; do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done
    tail -n 5 "$dir"/log/*.out >&2 || true
    fail "$what does not answer; see $dir/log"
}

# ---- files -------------------------------------------------------------------------------------------------------

# Several clusters may come up at the same time: a block of ports belongs to whoever made its folder here.
claims=/tmp/oef-slurm-ports

# A free block of ports, claimed for this cluster.
claim_ports() {
    local base
    mkdir -p -m 1777 "$claims"
    for base in $(seq 16800 $PORTS 32000); do
        is_abandoned "$claims/$base" && rm -rf "${claims:?}/$base"
        mkdir "$claims/$base" 2>/dev/null || continue
        echo "$dir" >"$claims/$base/owner"
        listens "$base" || listens $((base + 1)) || listens $((base + 11)) || { echo "$base"; return; }
        rm -rf "${claims:?}/$base"
    done
    fail "no free block of ports"
}

# The claim of a cluster whose folder is gone, and that is not just being made.
is_abandoned() { # CLAIM
    [ -d "$1" ] || return 1
    local owner
    owner=$(cat "$1/owner" 2>/dev/null) || { [ -n "$(find "$1" -maxdepth 0 -mmin +1 2>/dev/null)" ]; return; }
    [ ! -d "$owner" ]
}

release_ports() {
    local claim
    for claim in "$claims"/*; do
        [ "$(cat "$claim/owner" 2>/dev/null)" = "$dir" ] && rm -rf "$claim"
    done
    return 0
}

write_files() {
    mkdir -p "$dir"/{etc,run/munge,run/sql,log/ctld,state,spool,dev,munge,sql,pids}
    chmod 755 "$dir" "$dir"/{etc,run,run/munge,log,log/ctld,state,spool,dev}
    chmod 700 "$dir/munge"
    [ -s "$dir/munge/key" ] || dd if=/dev/urandom "of=$dir/munge/key" bs=128 count=1 status=none
    chmod 600 "$dir/munge/key"
    for gpu in 0 1 2 3 4 5 6 7; do ln -sfn /dev/null "$dir/dev/gpu$gpu"; done
    echo "$port" >"$dir/etc/port"
    slurm_conf >"$dir/etc/slurm.conf"
    echo "AutoDetect=off" >"$dir/etc/gres.conf"
    local number=0 gpus
    for gpus in $LAB_NODES; do
        number=$((number + 1))
        echo "NodeName=n$number Name=gpu Type=${gpus%:*} File=$dir/dev/gpu[0-$((${gpus#*:} - 1))]" >>"$dir/etc/gres.conf"
    done
    (umask 077; dbd_conf >"$dir/etc/slurmdbd.conf")
    if [ "$(id -u)" = 0 ]; then
        chown -R munge:munge "$dir/munge" "$dir/run/munge"
        chown slurm "$dir/state" "$dir/log/ctld" "$dir/etc/slurmdbd.conf"
        chown mysql "$dir/sql" "$dir/run/sql"
    fi
}

slurm_conf() {
    cat <<CONF
ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$slurm_user
SlurmdUser=$me
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/run/munge/munge.socket.2,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SrunPortRange=$((port + 100))-$((port + 399))
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/state/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/ctld/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
SlurmctldDebug=info
SlurmdDebug=info
# Neither systemd nor cgroups are needed.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,batch_sched_delay=0,bf_interval=1,bf_max_time=1
PriorityType=priority/multifactor
PriorityWeightFairshare=1000
JobRequeue=1
KillWait=${LAB_KILL_WAIT:-30}
KillOnBadExit=1
ReturnToService=1
SlurmctldTimeout=10
SlurmdTimeout=${LAB_SLURMD_TIMEOUT:-20}
MessageTimeout=10
InactiveLimit=0
MinJobAge=60
MaxJobCount=20000
CompleteWait=0
PrologFlags=NoHold
CONF
    if [ "$LAB_ACCOUNTING" = 1 ]; then
        cat <<CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/gpu$(types)
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((port + 1))
AccountingStoragePass=$dir/run/munge/munge.socket.2
AccountingStorageEnforce=associations,limits,qos
CONF
    else
        echo "AccountingStorageType=accounting_storage/none"
    fi
    echo "NodeName=DEFAULT CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=64000 State=UNKNOWN"
    local number=0 gpus
    for gpus in $LAB_NODES; do
        number=$((number + 1))
        # Everything is on the one address that the daemons bind. Each node spells it in its own way (01, 001, ...), so
        # that a worker that is told another node's is seen.
        echo "NodeName=n$number NodeHostname=localhost NodeAddr=127.0.0.$(printf '%0*d' $((number + 1)) 1) Port=$((port + 10 + number)) Gres=gpu:$gpus Feature=${gpus%:*}"
    done
    echo "PartitionName=gpu Nodes=n[1-$number] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO DefMemPerCPU=500"
    echo "PartitionName=small Nodes=n1 MaxTime=60 State=UP OverSubscribe=NO DefMemPerCPU=500"
}

# The gpu types, as accounting counts them.
types() { for gpus in $LAB_NODES; do echo "${gpus%:*}"; done | sort -u | sed 's|^|,gres/gpu:|' | tr -d '\n'; }

dbd_conf() {
    cat <<CONF
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge/munge.socket.2
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$((port + 1))
SlurmUser=$slurm_user
LogFile=$dir/log/ctld/slurmdbd.log
PidFile=$dir/state/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((port + 2))
StorageUser=slurm
StoragePass=lab
StorageLoc=slurm_acct
CONF
}

make_database() {
    local auth=()
    [ "$(id -u)" = 0 ] && auth=(--auth-root-authentication-method=socket)
    # A table of time zones and help texts take longest and are not needed.
    mariadb-install-db --no-defaults "--datadir=$dir/sql" "--user=$sql_user" --skip-test-db --skip-name-resolve \
        "${auth[@]}" >"$dir/log/install-db.out" 2>&1 || fail "the database could not be made; see $dir/log/install-db.out"
}

# ---- commands ----------------------------------------------------------------------------------------------------

up() {
    install_packages
    for part in "$dir"/pids/*; do
        [ -e "$part" ] && pid_of "$(basename "$part")" >/dev/null && { down >/dev/null; break; }
    done
    [ "${LAB_KEEP:-0}" = 1 ] || rm -rf "$dir"/{etc,run,log,state,spool,dev,munge,sql,pids}
    mkdir -p "$dir"
    port=${LAB_PORT:-$(claim_ports)}
    write_files
    start_part munged
    if [ "$LAB_ACCOUNTING" = 1 ]; then
        [ -d "$dir/sql/mysql" ] || make_database
        start_part mariadbd
        sql "create database if not exists slurm_acct; create user if not exists slurm@127.0.0.1 identified by 'lab';
             grant all on slurm_acct.* to slurm@127.0.0.1"
        start_part slurmdbd
        accounts
    fi
    start_part slurmctld
    local number=0 gpus
    for gpus in $LAB_NODES; do number=$((number + 1)); start_part "slurmd-n$number"; done
    await "a node" nodes_are_up "$number"
    [ -z "${LAB_OWNER:-}" ] || watch_owner
    echo "export SLURM_CONF=$SLURM_CONF"
}

# Tests that are killed cannot take anything down themselves.
watch_owner() {
    local script
    script=$(readlink -f "$0")
    setsid bash -c 'while [ -d "/proc/$1" ] && ! grep -q "^State:.Z" "/proc/$1/status"; do sleep 0.5; done
        "$2" down "$3"; rm -rf "$3"' lab-owner "$LAB_OWNER" "$script" "$dir" </dev/null >/dev/null 2>&1 &
}

nodes_are_up() { [ "$(timeout 5 sinfo -h -N -p gpu -t idle,mix,alloc -o %N | wc -l)" = "$1" ]; }

# Four accounts, as tenants have them, and whoever runs the tests in each of them.
accounts() {
    local account
    await "accounting" timeout 5 sacctmgr -n show cluster
    sacctmgr -i -Q add cluster lab >/dev/null 2>&1 || true
    for account in vision speech language robots; do
        sacctmgr -i -Q add account "$account" cluster=lab fairshare=1 >/dev/null 2>&1 || true
        sacctmgr -i -Q add user "$me" account="$account" cluster=lab >/dev/null 2>&1 || true
        sacctmgr -i -Q add user games account="$account" cluster=lab >/dev/null 2>&1 || true
    done
}

down() {
    [ -d "$dir" ] || { echo "nothing in $dir"; return 0; }
    local part name pid
    # Nodes first: what they run is ended by its environment below.
    for name in slurmd- slurmctld slurmdbd mariadbd munged; do
        for part in "$dir/pids/$name"*; do
            [ -e "$part" ] || continue
            [ "$name" = slurmd- ] && { pid=$(pid_of "$(basename "$part")") && kill -TERM "$pid" 2>/dev/null || true; continue; }
            stop_part "$(basename "$part")"
        done
    done
    for part in "$dir"/pids/*; do [ -e "$part" ] && stop_part "$(basename "$part")"; done
    # Steps and jobs outlive slurmd by design, and what is not noted may be left from a run that was killed.
    local environ
    for environ in /proc/[0-9]*/environ; do
        pid=${environ#/proc/} pid=${pid%/environ}
        [ "$pid" = $$ ] && continue
        if grep -qzxF "SLURM_CONF=$SLURM_CONF" "$environ" 2>/dev/null; then
            case $(cat "/proc/$pid/comm" 2>/dev/null) in
                slurm* | munged) kill -KILL "$pid" 2>/dev/null || true ;;
                *) grep -qz '^SLURM_JOB_ID=' "$environ" 2>/dev/null && kill -KILL "$pid" 2>/dev/null || true ;;
            esac
        elif grep -qzF -- "$dir/" "/proc/$pid/cmdline" 2>/dev/null; then
            case $(cat "/proc/$pid/comm" 2>/dev/null) in munged | mariadbd) kill -KILL "$pid" 2>/dev/null || true ;; esac
        fi
    done
    release_ports
    echo "down"
}

command=${1:-}
case $command in
    install) install_packages; exit ;;
    up | down) [ $# = 2 ] || fail "usage: slurm-lab.sh $command DIR" ;;
    start) [ $# = 3 ] || fail "usage: slurm-lab.sh start DIR NAME" ;;
    stop) [ $# = 3 ] || [ $# = 4 ] || fail "usage: slurm-lab.sh stop DIR NAME [SIGNAL]" ;;
    *) fail "usage: slurm-lab.sh install | up DIR | down DIR | start DIR NAME | stop DIR NAME [SIGNAL]" ;;
esac
case $2 in /*) dir=${2%/} ;; *) dir=$PWD/${2%/} ;; esac
export SLURM_CONF=$dir/etc/slurm.conf
port=$(cat "$dir/etc/port" 2>/dev/null || true)
case $command in
    up) up ;;
    down) down ;;
    start) start_part "$3" ;;
    stop) stop_part "$3" "${4:-TERM}" ;;
esac
