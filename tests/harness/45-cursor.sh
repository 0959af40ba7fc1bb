#!/bin/sh
# SPDX-License-Identifier: ISC
# Cursor, as far as its SDK goes without its back end: the local runtime starts in the cell on Node 22 (which
# tries io_uring at every start), keeps its state in the home, asks for its endpoint, and is not killed.
# shellcheck source=tests/harness/needs.sh
. "$(dirname "$0")/needs.sh"
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/cell.sh
. "$tree/tests/harness/cell.sh"

cell_setup || {
	skip 'Cursor' 'needs tests/harness/00-packages.sh to have run'
	finish
}
cp "$tree/tests/harness/cursor_agent.mjs" /usr/local/bin/cursor-agent
sed -i "s@'\\@cursor/sdk'@'$harness_root/cursor/node_modules/\\@cursor/sdk/dist/esm/index.js'@" /usr/local/bin/cursor-agent
chmod 0755 /usr/local/bin/cursor-agent
project=/home/dev/cursor-project
make_project dev "$project"

(cd "$project" && agent_in() {
	setpriv --reuid dev --regid dev --init-groups env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/dev USER=dev \
		LOGNAME=dev LANG=C.UTF-8 CURSOR_API_KEY=dummy sudo -n -u agentcell-worker "$@" 8>&-
} && agent_in sh -c 'strace -f -qq -e trace=io_uring_setup -o trace node22 -e 1; cat trace' >/run/uring 2>&1
	agent_in cursor-agent >/run/cursor.out 2>/run/cursor.err
	echo "$?" >/run/status)
check 'control: Node 22 does try io_uring' grep -q 'io_uring_setup.*ENOSYS' /run/uring
equal 'the runtime ends by itself' "$(cat /run/status)" 0
check 'it got as far as its endpoint' grep -q '^SDK: ' /run/cursor.out
sed 's/^/# /' /run/cursor.out
check 'the profile is its own' grep -q 'harness *cursor' /run/cursor.err
check 'ended clean' sh -c 'echo "$1" | grep -q "\"clean\""' sh "$(cell_records end)"
equal 'nothing denied that matters' "$(cell_denials)" ''
equal 'no escape' "$(grep '"event":"escape"' "$json_log")" ''
nothing_left 'Cursor'
finish
