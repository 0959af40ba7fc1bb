#!/bin/sh
# SPDX-License-Identifier: ISC
# What the listener promises and what it costs: `tests/bench/listener.sh [piece...]`, all by default.
#
#     kill                 a session of four processes violates once, then all read on as fast as they can
#     kill-rules             the same with file modes and audit rules alone, as on kernels before 6.15
#     kill-loaded            the same as kill, three busy loops beside it
#     kill-plugin, kill-plugin-loaded     through auditd's plugin pipe instead of the kernel's stream
#     work                 find, git status, a C build, npm ci in a cell: auditing off, on without a rule,
#                            with one rule that is about nobody, and watched
#     others               the same for a user who has nothing to do with it
#     rate, rate-plugin    refused opens of four sessions at once, as fast as they go; all must be counted
#     sessions             what one event costs with 1, 100 and 1000 registered sessions, in memory
#
# Pieces take turns for ROUNDS (5) rounds, so that what the machine does meanwhile hits all alike.  The
# kernel's audit state is held for two minutes at most, then others have their turn.  A kill piece has
# RUNS (100) runs a round.
#     act      violating call returned -> last sign of life of any of the four (0: it never returned)
#     dead     violating call began -> the last process is gone, as the kernel tells
#     files    that were still read after the violation, of those that they may read
# What was measured stands in build/bench/listener/<piece>, a line a run; with KEEP=1 more is added.
if [ "${1-}" != --round ]; then
	top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
	results=${AGENTCELL_BUILD:-$top/build}/bench/listener
	[ $# != 0 ] || set -- kill kill-rules kill-loaded kill-plugin kill-plugin-loaded work others rate \
		rate-plugin sessions
	mkdir -p "$results" || exit 1
	for piece; do
		[ -n "${KEEP-}" ] || rm -f "$results/$piece"
	done
	for round in $(seq "${ROUNDS:-5}"); do
		left=$(printf '%s ' "$@" | sed 's/sessions //')
		while [ -n "$left" ]; do
			# shellcheck disable=SC2086
			"$0" --round "$round" $left >"$results/new"
			awk -v results="$results" '/^@/ { piece = $2; next } /^#/ || !piece { print >"/dev/stderr"; next }
				{ print >>(results "/" piece) }' "$results/new"
			# What was begun, and perhaps killed by the clock, is not begun again.
			before=$left
			done=$(sed -n 's/^@ //p' "$results/new")
			for piece in $done; do
				left=$(printf '%s' "$left" | sed "s/^$piece //")
			done
			[ "$left" != "$before" ] || exit 1
		done
	done
	for piece; do
		case $piece in
		sessions) "${results%/listener}/listener_events" ;;
		*) [ ! -e "$results/$piece" ] ||
			/usr/bin/python3 "$top/tests/bench/listener_report.py" "$piece" "$results/$piece" ;;
		esac
	done
	exit
fi

# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/../audit/lib.sh"
round=$2
shift 2
begun=$(date +%s)
(sleep 115 && echo '# too slow: given up' && kill $$) 8>&- &
key=/home/dev/.ssh/id_ed25519
acts=/home/dev/project/acts
cp "$build/bench/listener_acts" $acts

auditd=
plugin_start() { # the listener as auditd's plugin
	sed "s|/usr/sbin/agentcelld|$build/agentcelld|; s/^active = .*/active = yes/" \
		"$tree/auditd_rules/agentcell-plugin.conf" >/etc/audit/plugins.d/agentcell.conf
	chmod 0640 /etc/audit/plugins.d/agentcell.conf
	sed -i 's/^log_format.*/log_format = RAW/' /etc/audit/auditd.conf
	mkdir -p /var/log/audit
	auditd -n -s nochange 8>&- >/run/auditd.log 2>&1 &
	auditd=$!
	wait_for 10 test -S /run/agentcell/agentcelld.sock || {
		echo '# the plugin does not start'
		cat /run/auditd.log >&2
		exit 1
	}
}

plugin_stop() {
	kill "$auditd"
	wait "$auditd"
	auditd=
	# It goes last: when it has let its lock go.
	wait_for 10 flock -n /run/agentcell/agentcelld.lock true
}

load_start() {
	loaders=
	for _ in 1 2 3; do
		sh -c 'while :; do :; done' 8>&- &
		loaders="$loaders $!"
	done
}

load_stop() {
	# shellcheck disable=SC2086
	kill $loaders
	# shellcheck disable=SC2086
	wait $loaders 2>/dev/null
}

spree() { # [option...]: RUNS lines of "act dead files", in ms
	for i in $(seq "${RUNS:-100}"); do
		said=$("$session" -T -p /home/dev/project -b /home/dev/.ssh "$@" -- $acts spree $key 8>&-)
		status=$?
		[ "$status" = "$escape" ] || {
			echo "# run $i: cause $status"
			continue
		}
		# before, after, last, files of each process
		od -A n -t u8 -v -w32 spree | awk -v death="$(printf '%s\n' "$said" | sed -n 's/^death //p')" '
			NR == 1 { before = $1; after = $2; if (!before) exit } # never came to it
			$3 > last { last = $3 }
			{ files += $4 }
			END { if (!before) exit; act = (after && last > after) ? last - after : 0; print act / 1e6, (death - before) / 1e6, files }'
	done
}

# In the order of the round, so that none is always the first.  "one" is a rule that is about nobody: what
# any site pays that has a rule at all, because the kernel then notes each call's names.
other_rule='exit,always -F arch=b64 -S personality -F uid=99999'
for_each_state() { # function
	case $((round % 4)) in
	0) states='off on one watched' ;;
	1) states='watched one on off' ;;
	2) states='one off watched on' ;;
	3) states='on watched off one' ;;
	esac
	for state in $states; do
		case $state in
		off) auditctl -e 0 >/dev/null ;;
		on) auditctl -e 1 >/dev/null ;;
		one)
			auditctl -e 1 >/dev/null
			# shellcheck disable=SC2086
			auditctl -a $other_rule || exit 1
			;;
		watched) listener_start ;;
		esac
		"$1" "$state"
		listener_stop
		# shellcheck disable=SC2086
		[ "$state" != one ] || auditctl -d $other_rule
	done
}

# Whose npm ci puts node_modules there, only that one can replace it: each has a directory.
prepare_work() { # directory
	[ ! -e "$1/work.py" ] || return 0
	/usr/bin/python3 "$tree/tests/bench/listener_work.py" prepare "$1" || exit 1
}

work_in_cell() { # state
	[ "$1" = watched ] || alone=-N
	# shellcheck disable=SC2086
	"$session" ${alone-} -u 71003 -w 100 -p /home/dev/project -b /home/dev/.ssh -- \
		/usr/bin/python3 /home/dev/project/work.py run /home/dev/project "$1" 8>&-
	alone=
}

work_of_others() { # state
	setpriv --reuid 1234 --regid 1234 --clear-groups env HOME=/tmp/others \
		/usr/bin/python3 /tmp/others/work.py run /tmp/others "$1" 8>&-
	echo "$1 call $(setpriv --reuid 1234 --regid 1234 --clear-groups $acts calls 8>&-) 0"
}

rate() { # four sessions at once: "judged whole-ms tried-ms"
	: >tries
	chmod 0666 tries
	started=$(date +%s%N)
	pids=
	for i in 1 2 3 4; do
		"$session" -u "7101$i" -p /home/dev/project -- $acts tries /srv >"/run/rate.$i" 2>&1 8>&- &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086
	wait $pids
	ended=$(date +%s%N)
	cat /run/rate.[1-4] | sed 's/^/# /' | grep -v 'accesses were refused'
	cat /run/rate.[1-4] | sed -n 's/.*ended; \([0-9]*\) accesses were refused.*/\1/p' |
		awk -v took=$(((ended - started) / 1000)) '{ seen += $1 } END { print seen + 0, took / 1000 }' >/run/rate
	awk -v seen="$(cat /run/rate)" 'NR == 1 || $1 < first { first = $1 } $2 > last { last = $2 }
		END { print seen, (last - first) / 1e6 }' tries
}

do_piece() {
	case $1 in
	kill)
		listener_start
		spree
		;;
	kill-rules)
		listener_start
		spree -L
		;;
	kill-loaded)
		listener_start
		load_start
		spree
		load_stop
		;;
	kill-plugin)
		plugin_start
		spree
		plugin_stop
		;;
	kill-plugin-loaded)
		plugin_start
		load_start
		spree
		load_stop
		plugin_stop
		;;
	work)
		prepare_work /home/dev/project
		for_each_state work_in_cell
		;;
	others)
		prepare_work /tmp/others
		for_each_state work_of_others
		;;
	rate)
		listener_start
		rate
		;;
	rate-plugin)
		plugin_start
		rate
		plugin_stop
		;;
	*)
		echo "# no such piece: $1"
		exit 2
		;;
	esac
	listener_stop
}

for piece; do
	echo "@ $piece"
	do_piece "$piece"
	echo "# $piece: load $(cut -d' ' -f1-3 /proc/loadavg)"
	[ $(($(date +%s) - begun)) -lt 45 ] || break
done
