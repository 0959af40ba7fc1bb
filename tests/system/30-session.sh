#!/bin/sh
# SPDX-License-Identifier: ISC
# The three promises: a session that keeps to its paths runs until the wall clock ends it; an escape
# is ended and recorded; without a backup no agent process ever exists.
. "$(dirname "$0")/../lib/session.sh"

# --- a clean session
umask 027
agent dev sh -c 'echo written by the agent >made; chmod 640 made; mkdir sub; id -un; pwd' \
	>/run/out 2>/run/err
equal 'a clean session ends with its own exit status' "$?" 0
check 'it runs as an account of its own' grep -Eq '^agentcell-[0-9a-f]{12}$' /run/out
check 'in the project, at its own path' grep -qx /home/dev/project /run/out
equal 'what it writes is there' "$(cat /home/dev/project/made)" 'written by the agent'
equal 'owned by her, mode as made' "$(stat -c '%U:%G %a' /home/dev/project/made)" 'dev:dev 640'
equal 'directories too' "$(stat -c '%U:%G' /home/dev/project/sub)" 'dev:dev'
for term in 'agentcell session' account 'asked by' harness read-write network limits backup; do
	check "the terms name: $term" grep -q "$term" /run/err
done
check 'its start is on record' log_has event=start user=dev
check 'and its end' log_has event=end status=ended cause=clean
nothing_left 'clean session'
agent dev sh -c 'exit 7' 2>/dev/null
equal 'exit status 7' "$?" 7
nothing_left 'exit status 7'

# --- the wall clock
started=$(date +%s)
agent dev AGENTCELL_WALL_CLOCK=2 sh -c 'trap "" TERM HUP INT; setsid sleep 60 & sleep 60' >/run/out 2>/run/err
status=$?
took=$(($(date +%s) - started))
equal 'the wall clock ends a session' "$status" 137
check "before the command would have ended (took $took s)" test "$took" -ge 2 -a "$took" -lt 60
check 'it says so' grep -qi 'wall clock' /run/err
check 'on record as an end, not as an escape' log_has event=end status=ended cause=wall_clock
nothing_left 'wall clock'

# --- an escape
cp -a /home/dev/project /home/dev/before
started=$(date +%s%N)
agent dev sh -c 'rm -rf .git text; cat /home/dev/.ssh/id_ed25519; sleep 30; echo survived' \
	>/run/out 2>/run/err
status=$?
took=$((($(date +%s%N) - started) / 1000000))
equal 'an escape ends the session' "$status" 137
check "before the command would have ended (took $took ms)" test "$took" -lt 20000
refute 'no byte of the secret came out' grep -q 'secret key' /run/out /run/err
refute 'nothing ran on' grep -q survived /run/out
check 'the report names what was tried' grep -q '/home/dev/.ssh' /run/err
check 'and by which process' grep -Eq 'cat' /run/err
check 'on record: the escape' log_has event=escape target=/home/dev/.ssh
check 'on record: the end' log_has event=end status=terminated cause=escape
nothing_left 'escape'
restore=$(sed -n 's/^.*\(agentcell restore .*\)$/\1/p' /run/err | head -1)
check 'the report prints a restore command' test -n "$restore"
check 'which works as the user' as dev sh -c "$restore"
check 'and brings everything back' diff -r --no-dereference /home/dev/before /home/dev/project

# --- no backup, no agent
mv /var/lib/agentcell/backups /var/lib/agentcell/backups.away
ln -s /proc/nowhere /var/lib/agentcell/backups
agent dev sh -c 'touch /home/dev/project/ran' >/run/out 2>/run/err
status=$?
rm -f /var/lib/agentcell/backups
mv /var/lib/agentcell/backups.away /var/lib/agentcell/backups
equal 'without a backup the request is refused' "$status" 1
refute 'no agent process existed' test -e /home/dev/project/ran
check 'it says so' grep -qi backup /run/err
check 'on record as aborted' log_has event=end status=aborted cause=aborted
nothing_left 'aborted'
check 'control: then it works again' agent dev true
finish
