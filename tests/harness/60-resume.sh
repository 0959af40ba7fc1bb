#!/bin/sh
# SPDX-License-Identifier: ISC
# A conversation that goes on in a later session, when the profile keeps the transcripts: brought out as
# the user, put back at the next start in the same directory, and nowhere else.
# shellcheck source=tests/harness/needs.sh
. "$(dirname "$0")/needs.sh"
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/cell.sh
. "$tree/tests/harness/cell.sh"

keep() { # profile paths
	sed -i "s@^#*keep = .*@keep = $2@; s@^#\\[home\\]@[home]@" "/etc/agentcell/harness.d/$1.conf"
}

forget() { # profile
	sed -i 's@^keep = @#keep = @' "/etc/agentcell/harness.d/$1.conf"
}

continue_command() {
	case $1 in
	claude) echo 'claude --continue -p go-on' ;;
	codex) echo 'codex exec --skip-git-repo-check resume --last go-on' ;;
	opencode) echo 'opencode run --continue go-on' ;;
	esac
}

# How many tool results the model saw in the first request of the last run.
seen_at_start() { # log
	sed -n 's/.*"done":\([0-9]*\).*/\1/p' "$1" | head -1
}

again() { # harness directory
	mock_start /run/steps.json "$2" /run/again.log
	# shellcheck disable=SC2046
	cell_run_as "$1" "$2" $(continue_command "$1")
	status=$?
	mock_stop
}

resume() { # harness profile paths
	project=/home/dev/$1-project
	make_project dev "$project"
	make_project dev "$project-2"
	keep "$2" "$3"
	mock_start /run/steps.json "$project" "/run/$1.log"
	cell_run "$1" "$project"
	equal "$1: the first session" "$?" 0
	mock_stop
	check "$1: the terms say what is kept" grep -q 'kept ' "/run/$1.err"
	again "$1" "$project"
	equal "$1: the second session" "$status" 0
	equal "$1: it knows what the first one did" "$(seen_at_start /run/again.log)" 2
	again "$1" "$project-2"
	refute "$1: in another directory it does not" test "$(seen_at_start /run/again.log)" = 2
	equal "$1: what is kept is the user's" "$(find /var/lib/agentcell/kept/dev ! -user dev)" ''
	equal "$1: and nobody else's to read" "$(find /var/lib/agentcell/kept/dev -perm /077)" ''
	forget "$2"
	again "$1" "$project"
	refute "$1: control: without keep nothing is known" test "$(seen_at_start /run/again.log)" = 2
}

cell_setup || {
	skip 'resume' 'needs tests/harness/00-packages.sh to have run'
	finish
}
cat >/run/steps.json <<-'END'
	[ { "name": "one", "tool": "shell", "command": "echo one" },
	  { "name": "two", "tool": "shell", "command": "echo two" } ]
END
resume claude claude_code '.claude/projects'
resume codex codex '.codex/sessions'
resume opencode opencode '.local/share/opencode'

# --- after an escape nothing is kept
keep claude_code '.claude/projects'
rm -rf /var/lib/agentcell/kept/dev
cat >/run/steps.json <<-'END'
	[ { "name": "one", "tool": "shell", "command": "cat /home/dev/.ssh/id_ed25519; sleep 20" } ]
END
project=/home/dev/claude-project
mock_start /run/steps.json "$project" /run/claude.log
cell_run claude "$project"
equal 'an escape' "$?" 137
mock_stop
refute 'leaves no transcript for the next session' test -e /var/lib/agentcell/kept/dev
finish
