#!/bin/sh
# SPDX-License-Identifier: ISC
# Leases of uids, their names on the host, what a uid leaves behind; cgroups: limits, freeze, kill.
# shellcheck source=tests/cell/tap.sh
. "$(dirname "$0")/tap.sh"
private -i

work=$(mktemp -d)
pids=
cleanup() {
	for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
	"$cellctl" cgroup kill aaaaaaaaaaaa 2>/dev/null
	"$cellctl" cgroup remove aaaaaaaaaaaa 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm && mkdir -p /dev/mqueue || bail "no tmpfs"
mount -t mqueue mqueue /dev/mqueue || bail "no mqueue"
account() { "$cellctl" account "$@" 2>&1; }
session() { mkdir -p "/run/agentcell/sessions/$1"; }

# --- leases
session aaaaaaaaaaaa && session bbbbbbbbbbbb && session cccccccccccc && session dddddddddddd
chmod 755 /run/agentcell
is "the first" "$(account lease aaaaaaaaaaaa 74100 74102)" 74100
is "the next" "$(account lease bbbbbbbbbbbb 74100 74102)" 74101
is "given back" "$(account release aaaaaaaaaaaa 74100)" ""
is "a number is reused as late as possible" "$(account lease cccccccccccc 74100 74102)" 74102
is "then from the start" "$(account lease aaaaaaaaaaaa 74100 74102)" 74100
like "used up" "$(account lease dddddddddddd 74100 74102)" "every uid from 74100 to 74102 is in use"
is "the lease names its session" "$(cat /run/agentcell/uids/74102)" cccccccccccc
is "nobody else may look" "$(stat -c %a /run/agentcell/uids)" 700
is "another session's lease is not given back" \
	"$(account release bbbbbbbbbbbb 74102; cat /run/agentcell/uids/74102)" cccccccccccc
setpriv --reuid 74100 --regid 74100 --clear-groups sleep 60 &
pids="$pids $!" busy=$!
while [ "$(account processes 74100)" != 1 ]; do :; done
is "the quick look sees it too" "$(account own-processes 74100)" 1
like "not while a process has it" "$(account release aaaaaaaaaaaa 74100)" "still has 1 process"
rm /run/agentcell/uids/74100
like "nor leased to another" "$(account lease dddddddddddd 74100 74102)" "in use"
kill $busy && wait $busy 2>/dev/null
is "nor does it see what is gone" "$(account own-processes 74100)" 0
/usr/bin/python3 -c 'import os, time; os.setresuid(0, 0, 74100); time.sleep(60)' &
pids="$pids $!" busy=$!
while [ "$(account processes 74100)" != 1 ]; do :; done
is "who has it as saved uid only is met by the scan" "$(account processes 74100)" 1
is "and not by the quick look, which is for what a session starts" "$(account own-processes 74100)" 0
is "a lease takes the quick look" "$(account lease dddddddddddd 74100 74102)" 74100
account release dddddddddddd 74100
is "and who gives up what a stranger has gets another" "$(account lease dddddddddddd 74100 74103)" 74103
account release dddddddddddd 74103
kill $busy && wait $busy 2>/dev/null
is "afterwards it is" "$(account lease dddddddddddd 74100 74102)" 74100
rmdir /run/agentcell/sessions/bbbbbbbbbbbb
chmod 700 /run/agentcell/sessions
is "a lease whose session is gone is stale, also to sudo, whose real uid is the user's" \
	"$(setpriv --ruid 4242 "$cellctl" account lease aaaaaaaaaaaa 74100 74102 2>&1)" 74101
account release aaaaaaaaaaaa 74101
mount -t tmpfs -o mode=755 tmpfs /var/lib && mkdir /var/lib/agentcell && mkdir -m 700 /var/lib/agentcell/acl && : >/var/lib/agentcell/acl/74101
is "a uid that ACLs may name is not leased, nor by sudo" \
	"$(setpriv --ruid 4242 "$cellctl" account lease aaaaaaaaaaaa 74101 74103 2>&1)" 74103
like "however few there are" "$(account lease aaaaaaaaaaaa 74101 74101)" "every uid from 74101 to 74101 is in use"
rm /var/lib/agentcell/acl/74101
is "and is again without that note" "$(setpriv --ruid 4242 "$cellctl" account lease aaaaaaaaaaaa 74101 74101 2>&1)" 74101
is "releasing twice is no error" "$(account release dddddddddddd 74100; account release dddddddddddd 74100)" ""
account release aaaaaaaaaaaa 74101
# Twenty at once: twenty numbers.
for i in 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29; do
	session "eeeeeeeeee$i"
	account lease "eeeeeeeeee$i" 74300 74319 >"$work/lease$i" &
	leasers="$leasers $!"
done
# shellcheck disable=SC2086
wait $leasers
is "twenty at once get twenty numbers" "$(cat "$work"/lease* | sort -u | wc -l)" 20
is "no processes of a stranger" "$(account processes 74300)" 0

# --- names on the host
printf 'passwd: files\ngroup: files\n' >"$work/nsswitch"
mount --bind "$work/nsswitch" /etc/nsswitch.conf
is "nothing is published without nss-systemd" \
	"$(account publish agentcell-aaaaaaaaaaaa 74100; ls /run/userdb 2>/dev/null)" ""
printf 'passwd: files systemd # as shipped\ngroup: files systemd\n' >"$work/nsswitch"
is "published" "$(account publish agentcell-aaaaaaaaaaaa 74100; cd /run/userdb && echo *)" \
	"74100.group 74100.user agentcell-aaaaaaaaaaaa.group agentcell-aaaaaaaaaaaa.user"
if find /lib/ /usr/lib/ /usr/lib64/ -name libnss_systemd.so.2 2>/dev/null | grep -q .; then
	is "getent finds it" "$(getent passwd 74100)" \
		"agentcell-aaaaaaaaaaaa:x:74100:74100:agentcell session:/nonexistent:/usr/sbin/nologin"
	is "by name, the group too" "$(getent group agentcell-aaaaaaaaaaaa)" \
		"agentcell-aaaaaaaaaaaa:x:74100:"
else
	skip "getent" "needs nss-systemd"
fi
is "publishing twice is no error" "$(umask 077; account publish agentcell-aaaaaaaaaaaa 74100
	stat -c %a /run/userdb/agentcell-aaaaaaaaaaaa.user)" 644
like "a name must be plain" "$(account publish ../../etc/x 74100)" "not plain"
is "withdrawn" "$(account withdraw agentcell-aaaaaaaaaaaa 74100; ls /run/userdb)" ""
is "withdrawing twice is no error" "$(account withdraw agentcell-aaaaaaaaaaaa 74100)" ""
is "and nobody finds it" "$(getent passwd 74100)" ""
umount /etc/nsswitch.conf

# --- leftovers
as() { setpriv --reuid 74100 --regid 74100 --clear-groups "$@"; }
as ipcmk -M 4096 -S 2 -Q >/dev/null
setpriv --reuid 74101 --regid 74101 --clear-groups ipcmk -M 4096 -S 2 -Q >/dev/null
as sh -c 'mkdir -p /dev/shm/directory/below && touch /dev/shm/file /dev/shm/directory/below/file'
ln -s /etc/passwd /dev/shm/link && touch /dev/shm/roots
setpriv --reuid 74101 --regid 74101 --clear-groups touch /dev/shm/other
as touch /dev/mqueue/probe
objects() { ipcs -m -s -q | grep -c '^0x'; }
is "six objects, one queue" "$(objects) $(ls /dev/mqueue)" "6 probe"
is "removed" "$(account remove-ipc 74100)" ""
is "the stranger keeps his" "$(objects)" 3
is "files: only its own" "$(cd /dev && echo shm/* mqueue/*)" \
	"shm/link shm/other shm/roots mqueue/*"
is "the file behind a link is there" "$(test -s /etc/passwd && echo yes)" yes

# --- cgroup
cgroup() { "$cellctl" cgroup "$@" 2>&1; }
like "made" "$(umask 077; cgroup make aaaaaaaaaaaa)" "^limited [01]$"
is "found by sudo, whose real uid is the user's" \
	"$(setpriv --ruid 4242 "$cellctl" cgroup populated aaaaaaaaaaaa 2>&1)" 0
like "what a first try left is taken" "$(cgroup make aaaaaaaaaaaa)" "^limited [01]$"
path=$(cgroup path aaaaaaaaaaaa)
is "it has a path" "$(test -f "$path/cgroup.procs" && echo yes)" yes
is "empty" "$(cgroup populated aaaaaaaaaaaa)" 0
like "no climbing names" "$(cgroup make ../../x)" "12 hex digits"
setsid sh -c 'trap "" TERM; while :; do sleep 60; done' &
pids="$pids $!" inside=$!
is "entered" "$(cgroup enter aaaaaaaaaaaa $inside; cgroup has aaaaaaaaaaaa $inside)" 1
is "and nobody else" "$(cgroup has aaaaaaaaaaaa $$)" 0
is "populated" "$(cgroup populated aaaaaaaaaaaa)" 1
like "not made while populated" "$(cgroup make aaaaaaaaaaaa)" "has processes already"
like "not removed while populated" "$(cgroup remove aaaaaaaaaaaa)" "busy"
is "frozen" "$(cgroup freeze aaaaaaaaaaaa; sed -n 's/^frozen //p' "$path/cgroup.events")" 1
is "thawed" "$(cgroup thaw aaaaaaaaaaaa; sed -n 's/^frozen //p' "$path/cgroup.events")" 0
# A fork bomb that ignores SIGTERM, frozen as the judge does it, then killed.
"$cellctl" cgroup enter aaaaaaaaaaaa $inside
(
	"$cellctl" cgroup enter aaaaaaaaaaaa "$(exec sh -c 'echo $PPID')"
	trap '' TERM
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		(while :; do sleep 0.02 & done) &
		[ "$(wc -l <"$path/cgroup.procs")" -lt 150 ] || break
	done
	sleep 60
) 2>/dev/null &
pids="$pids $!"
while [ "$(wc -l <"$path/cgroup.procs")" -lt 20 ]; do :; done
is "frozen with a fork bomb in it" "$(cgroup freeze aaaaaaaaaaaa)" ""
is "killed while frozen, empty when it says so" \
	"$(cgroup kill aaaaaaaaaaaa; cgroup populated aaaaaaaaaaaa; wc -l <"$path/cgroup.procs")" "0
0"
is "removed" "$(cgroup remove aaaaaaaaaaaa; test -d "$path" || echo gone)" gone
is "removing twice is no error" "$(cgroup remove aaaaaaaaaaaa)" ""
like "opening what is gone" "$(cgroup populated aaaaaaaaaaaa)" "has no cgroup"
# --- the parent: below the listener's unit where systemd has delegated it, else at the root
unit=$cgroups/system.slice/agentcelld.service
like "at the root" "$(cgroup make aaaaaaaaaaaa; cgroup path aaaaaaaaaaaa)" "^limited.*"
mkdir -p "$unit"
cgroup make bbbbbbbbbbbb >/dev/null
is "a unit that is not delegated is no parent" "$(cgroup path bbbbbbbbbbbb)" "$cgroups/agentcell/bbbbbbbbbbbb"
if setfattr -n trusted.delegate -v 1 "$unit" 2>/dev/null; then
	cgroup make cccccccccccc >/dev/null
	is "a delegated one is" "$(cgroup path cccccccccccc)" "$unit/agentcell/cccccccccccc"
	is "what was made before is found" "$(cgroup path aaaaaaaaaaaa)" "$cgroups/agentcell/aaaaaaaaaaaa"
	is "and removed, like the other" \
		"$(cgroup remove aaaaaaaaaaaa; cgroup remove cccccccccccc; ls -d "$cgroups"/agentcell/aaa* \
			"$unit"/agentcell/ccc* 2>/dev/null)" ""
else
	skip "a delegated unit" "needs setfattr"
fi
cgroup remove bbbbbbbbbbbb
finish
