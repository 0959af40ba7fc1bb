#!/bin/sh
# SPDX-License-Identifier: ISC
# From a violation to the death of everything, for a session that violates once and then reads on as
# fast as it can: idle and loaded machine, the kernel's stream and auditd's plugin, 1 to 1000
# registered sessions.  RUNS (default 100) of each.  Then: what one event costs, for how many sessions.
#     detect    violating call returned -> last sign of life of the violator (0: never returned)
#     dead      violation -> its process is gone, as its parent sees it
#     read      files that it could still read, of those it may read
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/../audit/lib.sh"

RUNS=${RUNS:-100}
cp "$attack" /home/dev/project/attack
key=/home/dev/.ssh/id_ed25519

percentiles() { # name: numbers on standard input
	sort -n | awk -v name="$1" '{ v[NR] = $1 }
		function p(q) { i = int(NR * q + 0.999999); return v[i < 1 ? 1 : i] }
		END { if (NR) printf "  %-8s p50 %8.3f  p90 %8.3f  p99 %8.3f  max %8.3f\n", name, p(.5), p(.9), p(.99), v[NR] }'
}

measure() { # title [option...]
	title=$1
	shift
	rm -f /run/alive /run/dead /run/read
	for i in $(seq "$RUNS"); do
		rm -f spree
		said=$("$session" -T -p /home/dev/project -b /home/dev/.ssh "$@" -- ./attack spree $key 8>&-)
		status=$?
		[ "$status" = "$escape" ] || { echo "  run $i: cause $status"; continue; }
		od -A n -t u8 -N 32 -v spree | tr '\n' ' ' |
			awk -v death="$(printf '%s\n' "$said" | sed -n 's/^death //p')" '{
				alive = $2 && $3 ? ($3 - $2) / 1e6 : 0
				print alive >"/run/alive.new"; print (death - $1) / 1e6 >"/run/dead.new"; print $4 >"/run/read.new" }'
		for file in alive dead read; do cat /run/$file.new >>/run/$file; done
	done
	echo "$title ($(wc -l </run/dead) runs, ms)"
	percentiles detect </run/alive
	percentiles dead </run/dead
	percentiles read </run/read
}

load_start() {
	loaders=
	for _ in 1 2 3; do
		nice -n 0 sh -c 'while :; do :; done' 8>&- &
		loaders="$loaders $!"
	done
}

load_stop() {
	# shellcheck disable=SC2086
	kill $loaders
	# shellcheck disable=SC2086
	wait $loaders 2>/dev/null
}

listener_start
measure 'kernel stream, idle, Landlock'
measure 'kernel stream, idle, rules only' -L
load_start
measure 'kernel stream, three busy loops beside it, Landlock'
load_stop
listener_stop

if command -v auditd >/dev/null; then
	sed "s|/usr/sbin/agentcelld|$build/agentcelld|; s/active = no/active = yes/" \
		"$tree/auditd_rules/agentcell-plugin.conf" >/etc/audit/plugins.d/agentcell.conf
	chmod 0640 /etc/audit/plugins.d/agentcell.conf
	sed -i 's/^log_format.*/log_format = RAW/' /etc/audit/auditd.conf
	mkdir -p /var/log/audit
	auditd -n 8>&- >/run/auditd.log 2>&1 &
	auditd=$!
	wait_for 10 test -S /run/agentcell/agentcelld.sock
	measure "auditd's plugin, idle, Landlock"
	kill "$auditd"
	wait "$auditd"
fi

"$build/bench/listener_events"
finish >/dev/null
