#!/bin/sh
# SPDX-License-Identifier: ISC
# A process that tries through a symlink, takes it away and is gone, all before the listener looks: what
# was refused is judged by the record's own inode; where the kernel came to none, as refused.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

listener_start
cp "$attack" /home/dev/project/attack

# The listener is stopped meanwhile; when that takes too long the warden kills, and it is done again.
vanish() { # path [option...]: status in $status, words in $said
	path=$1
	shift
	for _ in 1 2 3 4 5; do
		rm -f go gone up
		"$session" -p /home/dev/project -b /home/dev/.ssh -L "$@" -- \
			sh -c ": >up; while [ ! -e go ]; do sleep 0.02; done; ./attack gone $path; sleep 1" \
			>/run/said 2>&1 8>&- &
		runner=$!
		wait_for 20 test -e up
		kill -STOP "$listener"
		: >go
		wait_for 2 test -e gone
		kill -CONT "$listener"
		wait "$runner"
		status=$?
		[ "$status" = "$lost" ] || break
	done
	said=$(cat /run/said)
}

vanish /home/dev/.ssh
equal 'bait by its inode: an escape' "$status" "$escape"
check 'and the report names the bait, not the link' expr "$said" : '.*read /home/dev/.ssh (bait'
vanish /home/dev/.ssh/id_ed25519
equal 'behind bait, no inode: refused' "$status" "$clean"
check 'and on record as that' test "$(logged denied '"reason":"refused; the name leads elsewhere by now"')" -ge 1
vanish /home/dev/.ssh/id_ed25519 -r high
equal 'with risk high an escape' "$status" "$escape"

# The controls: what is honest and looks alike.
denied_before=$(logged denied)
# They stay until they were looked at: what is gone by then may count as refused.
run -L -- sh -c 'echo x >mine; chmod 0 mine; cat mine; mkdir -m 0 shut; cat shut/x; sleep 1; true'
rmdir shut && rm -f mine
equal 'a file and a directory of its own that it shut itself are none' "$status" "$clean"
equal 'and not on record' "$(logged denied)" "$denied_before"

check 'nothing is left' nothing_left
listener_stop
finish
