#!/bin/sh
# SPDX-License-Identifier: ISC
# Harnesses that bring a sandbox of their own.  Denied, as the profiles say: a project that asks for it does
# not get it, the work goes on without and nobody is killed; who builds one by hand has tried to escape.
# Allowed: it works inside the cell, and what is tried from within it is judged as before.
# shellcheck source=tests/harness/needs.sh
. "$(dirname "$0")/needs.sh"
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/cell.sh
. "$tree/tests/harness/cell.sh"

cell_setup || {
	skip 'nested sandboxes' 'needs tests/harness/00-packages.sh to have run'
	finish
}
for program in bwrap socat; do
	command -v "$program" >/dev/null || {
		skip 'nested sandboxes' "needs $program"
		finish
	}
done

# Where a command runs: in namespaces of its own, or in the harness's; then what it may write.
cat >/run/steps.json <<-'END'
	[ { "name": "where", "tool": "shell", "command": "stat -L -c %i /proc/self/ns/user /proc/self/ns/mnt | tr '\\n' ' '" },
	  { "name": "inside", "tool": "shell", "command": "echo text >inside && git status --short && cat src/answer.js" },
	  { "name": "outside", "tool": "shell", "command": "touch ~/outside && echo made" } ]
END

# As the harness's own configuration in a project has it; trusted, since the profile says so.
ask_for_sandbox() { # harness project
	case $1 in
	claude)
		mkdir "$2/.claude"
		echo '{ "sandbox": { "enabled": true, "autoAllowBashIfSandboxed": true } }' >"$2/.claude/settings.json"
		;;
	codex)
		mkdir "$2/.codex"
		echo 'sandbox_mode = "workspace-write"' >"$2/.codex/config.toml"
		;;
	esac
	chown -R dev: "$2"
}

allow() { # harness
	case $1 in
	claude)
		sed -i 's/"enabled": false/"enabled": true/' /etc/agentcell/harness.d/files/claude-settings.json
		sed -i 's/^nested_sandbox = .*/nested_sandbox = allow/' /etc/agentcell/harness.d/claude_code.conf
		;;
	codex)
		sed -i 's/^sandbox_mode = .*/sandbox_mode = "workspace-write"/' \
			/etc/agentcell/harness.d/files/codex-managed.toml
		sed -i 's/^nested_sandbox = .*/nested_sandbox = allow/' /etc/agentcell/harness.d/codex.conf
		;;
	esac
}

run_steps() { # harness label
	rm -f "$project/inside"
	mock_start /run/steps.json "$project" "/run/$1.log"
	cell_run "$1" "$project"
	status=$?
	mock_stop
	equal "$1, $2: exit status" "$status" 0
	check "$1, $2: ended clean" sh -c 'echo "$1" | grep -q "\"clean\""' sh "$(cell_records end)"
	equal "$1, $2: nothing denied that matters" "$(cell_denials)" ''
	equal "$1, $2: it writes the project" "$(cat "$project/inside" 2>&1)" text
	check "$1, $2: and reads it" sh -c 'echo "$1" | grep -q "exports.answer"' sh "$(mock_result "/run/$1.log" inside)"
	nothing_left "$1, $2"
	where=$(mock_result "/run/$1.log" where | grep -o '[0-9]\{10\} [0-9]\{10\}')
	[ "$status" = 0 ] || { tail -20 "/run/$1.err"; cell_records | tail -3; } | sed 's/^/# /'
	[ -z "${VERBOSE-}" ] || sed 's/^/# /' "/run/$1.log"
}

host_users=$(stat -L -c %i /proc/self/ns/user)
nested() { # harness
	project=/home/dev/$1-project
	make_project dev "$project"
	ask_for_sandbox "$1" "$project"
	run_steps "$1" denied
	equal "$1, denied: no namespace of its own" "${where% *}" "$host_users"
	check "$1, denied: it writes its home" sh -c 'echo "$1" | grep -q made' sh "$(mock_result "/run/$1.log" outside)"
	allow "$1"
	run_steps "$1" allowed
	check "$1, allowed: a command's namespaces were seen" test -n "$where"
	refute "$1, allowed: they are its own" test "${where% *}" = "$host_users"
	refute "$1, allowed: its home is not to be written" \
		sh -c 'echo "$1" | grep -q made' sh "$(mock_result "/run/$1.log" outside)"
	echo '[ { "name": "act", "tool": "shell", "command": "sudo -n true; sleep 20" } ]' >/run/escape.json
	mock_start /run/escape.json "$project" "/run/$1.log"
	cell_run "$1" "$project"
	equal "$1, allowed: an escape from within: killed" "$?" 137
	mock_stop
	check "$1, allowed: on record" sh -c 'echo "$1" | grep -q "\"target\": \"/usr/bin/sudo\""' sh "$(cell_records escape)"
	nothing_left "$1, an escape"
}

# --- by hand
printf '[harness]\ncommands = boxed\nnested_sandbox = deny\n' >/etc/agentcell/harness.d/boxed.conf
cp /bin/sh /usr/local/bin/boxed
boxed() { # script
	agent dev boxed -c "$1" >/run/boxed.out 2>/run/boxed.err
}
box='bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all'
boxed "$box echo within; sleep 20"
equal 'by hand, denied: killed' "$?" 137
refute 'by hand, denied: it did not run' grep -q within /run/boxed.out
sed -i 's/deny/allow/' /etc/agentcell/harness.d/boxed.conf
boxed "$box echo within"
equal 'by hand, allowed: exit status' "$?" 0
check 'by hand, allowed: it ran' grep -q within /run/boxed.out
equal 'by hand, allowed: nothing denied' "$(cell_denials)" ''
[ -s /run/boxed.out ] || sed 's/^/# /' /run/boxed.err
boxed "$box cat /home/dev/project/text"
check 'by hand, allowed: control: the project is readable within' grep -q 'text of dev' /run/boxed.out
boxed "$box cat /home/dev/.ssh/id_ed25519; sleep 20"
equal 'by hand, allowed: bait from within: killed' "$?" 137
refute 'by hand, allowed: nothing read' grep -q 'secret key' /run/boxed.out
check 'by hand, allowed: on record' sh -c 'echo "$1" | grep -q "/home/dev/.ssh"' sh "$(cell_records escape)"
own_address=$(ip -4 -o addr show scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
if [ -n "$own_address" ]; then # nothing leaves the machine, whatever the firewall does
	/usr/bin/python3 -m http.server --bind "$own_address" 8789 --directory /mnt >/run/door.log 2>&1 8>&- &
	door=$!
	wait_for 30 curl -sf -o /dev/null "http://$own_address:8789/"
	check 'by hand, allowed: control: the door is open outside' as dev curl -sf -o /dev/null "http://$own_address:8789/"
	boxed "$box --share-net curl -s -m 3 http://$own_address:8789/stolen; sleep 20"
	equal 'by hand, allowed: an undeclared address from within: killed' "$?" 137
	refute 'by hand, allowed: nothing arrived' grep -q stolen /run/door.log
	kill "$door"
fi
nothing_left 'by hand'

[ $# != 0 ] || set -- claude codex
for harness; do
	nested "$harness"
done
finish
