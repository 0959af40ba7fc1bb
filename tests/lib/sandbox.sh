# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# A private copy of the machine for one test script.  Source it as the first thing:
#
#     . "$(dirname "$0")/../lib/sandbox.sh"
#
# The script is then run again, as root, in a mount namespace of its own: overlays on /etc, /usr
# and /var, fresh /run, /tmp, /root, /mnt and /dev, a fresh /home on the real disk (its file system
# must allow idmapped mounts), the source tree at /mnt/tree and what was built (AGENTCELL_BUILD, or
# build/ of the tree) at /mnt/build.  Nothing of the machine is changed; every process that the
# script leaves behind is killed through a cgroup of the test's own.
# Set before sourcing:
#     SANDBOX_NET=1     a network namespace with a loopback only
#     SANDBOX_TOP=DIR   the tree, for a script that is not in tests/<suite>/
#     SANDBOX_AUDIT=1   the test uses the kernel's audit rules and the nft table agentcell, which all
#                       the machine shares: one test at a time, and put back as found

set -u
LC_ALL=C
export LC_ALL
umask 022

sandbox_say() {
	echo "sandbox: $*" >&2
}

sandbox_cgroup_root() {
	for sandbox_dir in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		if [ -e "$sandbox_dir/cgroup.procs" ] && [ -e "$sandbox_dir/cgroup.controllers" ]; then
			echo "$sandbox_dir"
			return
		fi
	done
}

# A listener that runs; one that was killed and is still taken apart by the kernel hears nothing any more.
sandbox_listener() {
	for sandbox_pid in $(pgrep -r R,S,D -x agentcelld); do
		[ -z "$(tr -d '\0' <"/proc/$sandbox_pid/cmdline" 2>/dev/null)" ] || return 0
	done
	return 1
}

sandbox_audit_status() { # word
	auditctl -s | sed -n "s/^$1 //p"
}

# The processors that the kernel's audit thread may run on, as a mask.
sandbox_kauditd_cpus() {
	taskset -p "$(pgrep -x kauditd)" 2>/dev/null | sed 's/.*: //'
}

# The kernel has one audit state and one nft table of ours for everybody.
sandbox_audit_begin() {
	exec 8>/tmp/agentcell-audit.lock && flock 8 || exit 1
	sandbox_audit_enabled=$(sandbox_audit_status enabled)
	sandbox_audit_backlog=$(sandbox_audit_status backlog_limit)
	sandbox_kauditd=$(sandbox_kauditd_cpus)
	auditctl -l >"$sandbox_work/rules"
	for sandbox_try in $(seq 50); do # what a test before had to kill may take a moment
		sandbox_listener || break
		sleep 0.2
	done
	if sandbox_listener; then
		echo "ok 1 - ${0##*/} # SKIP agentcell is in use on this machine"
		exit 0
	fi
	# What a test left that was killed.
	grep -v agentcell "$sandbox_work/rules" >"$sandbox_work/rules.clean"
	mv "$sandbox_work/rules.clean" "$sandbox_work/rules"
	sandbox_audit_end
}

sandbox_audit_end() {
	[ -s "$sandbox_work/rules" ] || echo 'No rules' >"$sandbox_work/rules"
	auditctl -l | grep -vxF -f "$sandbox_work/rules" | sed -n 's/^-a /-d /p' |
		while read -r sandbox_rule; do
			# shellcheck disable=SC2086
			auditctl $sandbox_rule >/dev/null
		done
	[ "$(sandbox_audit_status enabled)" = "$sandbox_audit_enabled" ] ||
		auditctl -e "$sandbox_audit_enabled" >/dev/null
	[ "$(sandbox_audit_status backlog_limit)" = "$sandbox_audit_backlog" ] ||
		auditctl -b "$sandbox_audit_backlog" >/dev/null
	[ "$(sandbox_kauditd_cpus)" = "$sandbox_kauditd" ] ||
		taskset -p "$sandbox_kauditd" "$(pgrep -x kauditd)" >/dev/null
	nft delete table inet agentcell 2>/dev/null
	auditctl -l | cmp -s - "$sandbox_work/rules" || sandbox_say 'audit rules could not be put back'
}

# Outside: makes the work directory, runs the script again inside, clears up.
sandbox_outside() {
	if [ "$(id -u)" != 0 ]; then
		echo "ok 1 - ${0##*/} # SKIP needs root"
		exit 0
	fi
	sandbox_work=$(mktemp -d /var/tmp/agentcell-test.XXXXXX) || exit 1
	sandbox_cgroup=$(sandbox_cgroup_root)
	[ -z "$sandbox_cgroup" ] || sandbox_cgroup=$sandbox_cgroup/agentcell-test-$$
	[ -z "$sandbox_cgroup" ] || mkdir "$sandbox_cgroup" || sandbox_cgroup=
	mkdir "$sandbox_work/home" "$sandbox_work/up" "$sandbox_work/tree" "$sandbox_work/build" \
		"$sandbox_work/dev"
	trap 'sandbox_kill' EXIT
	trap 'exit 130' INT TERM HUP
	[ -z "${SANDBOX_AUDIT-}" ] || sandbox_audit_begin
	SANDBOX_WORK=$sandbox_work SANDBOX_CGROUP=$sandbox_cgroup \
		unshare -m ${SANDBOX_NET:+-n} --propagation private -- /bin/sh "$0" "$@"
	exit $?
}

sandbox_kill() {
	sandbox_status=$?
	trap - EXIT
	if [ -n "$sandbox_cgroup" ]; then
		echo 1 >"$sandbox_cgroup/cgroup.kill"
		# What is killed may take its time to be gone, where the machine writes to a slow disk.
		for sandbox_try in $(seq 300); do
			rmdir "$sandbox_cgroup" 2>/dev/null && break
			[ "$sandbox_try" = 300 ] && sandbox_say "cannot remove $sandbox_cgroup:" \
				"$(find "$sandbox_cgroup" -name cgroup.procs -exec grep -H . {} +)"
			sleep 0.2
		done
	fi
	[ -z "${sandbox_audit_enabled-}" ] || sandbox_audit_end
	rm -rf --one-file-system "$sandbox_work"
	exit "$sandbox_status"
}

sandbox_overlay() { # directory
	mkdir "$SANDBOX_WORK/up$1" "$SANDBOX_WORK/up$1.work" &&
		mount -t overlay overlay "$1" \
			-o "lowerdir=$1,upperdir=$SANDBOX_WORK/up$1,workdir=$SANDBOX_WORK/up$1.work"
}

sandbox_dev() {
	mount --rbind /dev "$SANDBOX_WORK/dev" &&
		mount -t tmpfs -o mode=755,size=4m dev /dev || return 1
	mkdir /dev/pts /dev/shm /dev/mqueue
	for sandbox_node in "$SANDBOX_WORK"/dev/*; do
		[ ! -L "$sandbox_node" ] || continue
		[ -c "$sandbox_node" ] || [ -b "$sandbox_node" ] || continue
		case ${sandbox_node##*/} in
		ptmx | tty[0-9]* | vcs*) continue ;;
		esac
		: >"/dev/${sandbox_node##*/}"
		mount --bind "$sandbox_node" "/dev/${sandbox_node##*/}" || return 1
	done
	ln -s /proc/self/fd /dev/fd
	ln -s fd/0 /dev/stdin
	ln -s fd/1 /dev/stdout
	ln -s fd/2 /dev/stderr
	ln -s pts/ptmx /dev/ptmx
	mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts /dev/pts &&
		mount -t tmpfs -o mode=1777 shm /dev/shm
}

sandbox_mounts() {
	sandbox_top=${SANDBOX_TOP:-$(cd "$(dirname "$0")/../.." && pwd)} || return 1
	sandbox_build=${AGENTCELL_BUILD:-$sandbox_top/build}
	[ ! -d "$sandbox_build" ] || mount --bind "$sandbox_build" "$SANDBOX_WORK/build" || return 1
	mount --bind "$sandbox_top" "$SANDBOX_WORK/tree" &&
		mount -t tmpfs -o mode=755 up "$SANDBOX_WORK/up" &&
		mount --bind "$SANDBOX_WORK/home" /home &&
		sandbox_dev || return 1
	mount -t tmpfs -o mode=755 mnt /mnt && mkdir /mnt/tree /mnt/build &&
		mount --bind "$SANDBOX_WORK/tree" /mnt/tree &&
		mount --bind "$SANDBOX_WORK/build" /mnt/build || return 1
	sandbox_overlay /etc && sandbox_overlay /usr && sandbox_overlay /var &&
		mount -t tmpfs -o mode=755 run /run &&
		mount -t tmpfs -o mode=1777 tmp /tmp &&
		mount -t tmpfs -o mode=700 root /root || return 1
	mkdir -m 0711 /run/sudo
	mkdir -m 1777 /run/lock
	: >/run/utmp
	: >/etc/sudo.conf
	grep -qsw "$(uname -n)" /etc/hosts || echo "127.0.1.1 $(uname -n)" >>/etc/hosts
	[ -z "${SANDBOX_NET-}" ] || ip link set lo up
}

sandbox_user() { # name [password]
	useradd -m -U -s /bin/bash -k /nonexistent "$1" 2>/dev/null || return 1
	chmod 0700 "/home/$1"
	if [ -n "${2-}" ]; then
		echo "$1:$2" | chpasswd -c SHA512 -s 1000
	else
		usermod -L "$1"
	fi
}

if [ -z "${SANDBOX_WORK-}" ]; then
	sandbox_outside "$@"
fi
if [ -n "$SANDBOX_CGROUP" ]; then
	echo $$ >"$SANDBOX_CGROUP/cgroup.procs"
fi
sandbox_mounts || {
	sandbox_say "cannot build the private copy of the machine"
	exit 1
}
tree=/mnt/tree
build=/mnt/build
cd "$tree" || exit 1
# shellcheck source=tests/lib/tap.sh
. "$tree/tests/lib/tap.sh"
