#!/bin/sh
# SPDX-License-Identifier: ISC
# Programs around a harness: an MCP server that the project declares runs inside the boundary, and sees
# what the cell sees; and a harness that lies in the user's own home is found there.
# shellcheck source=tests/harness/needs.sh
. "$(dirname "$0")/needs.sh"
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/cell.sh
. "$tree/tests/harness/cell.sh"

cell_setup || {
	skip 'MCP servers and own installations' 'needs tests/harness/00-packages.sh to have run'
	finish
}

# --- MCP
project=/home/dev/mcp-project shared=/home/dev/shared reader=/usr/local/bin/mcp-reader
cp "$tree/tests/harness/mcp_reader.js" "$reader"
make_project dev "$project"
install -d -o dev -g dev "$shared" && echo 'shared text' >"$shared/text" && chown dev: "$shared/text"
cat >"$project/.mcp.json" <<-END
	{ "mcpServers": { "files": { "command": "mcp-server-filesystem", "args": ["$project"] },
	                  "reader": { "command": "$reader", "args": ["$shared/text"] } } }
END
cat >"$project/opencode.json" <<-END
	{ "mcp": { "files": { "type": "local", "enabled": true,
	  "command": ["mcp-server-filesystem", "$project"] }, "reader": { "type": "local",
	  "enabled": true, "command": ["$reader", "$shared/text"] } } }
END
mkdir "$project/.claude" "$project/.codex"
echo '{ "enabledMcpjsonServers": ["files", "reader"] }' >"$project/.claude/settings.json"
cat >"$project/.codex/config.toml" <<-END
	[mcp_servers.files]
	command = "mcp-server-filesystem"
	args = ["$project"]
	[mcp_servers.reader]
	command = "$reader"
	args = ["$shared/text"]
END
chown -R dev: "$project"

# The server lists what it was given; a path that the view has not is not there for it either.
mcp_steps() {
	cat >/run/steps.json <<-END
		[ { "name": "inside", "tool": "mcp", "server": "files", "method": "read_text_file",
		    "input": { "path": "$project/package.json" } },
		  { "name": "shared", "tool": "mcp", "server": "reader", "method": "read", "input": {} },
		  { "name": "write", "tool": "mcp", "server": "files", "method": "write_file",
		    "input": { "path": "$project/by-mcp", "content": "written by the server" } },
		  { "name": "who", "tool": "shell",
		    "command": "ps -eo user:40,args | grep [m]cp-server-filesystem | head -1" } ]
	END
}

mcp() { # harness
	rm -f "$project/by-mcp"
	mock_start /run/steps.json "$project" "/run/$1.log"
	cell_run "$1" "$project" AGENTCELL_READ_PATHS="$shared"
	equal "$1: exit status" "$?" 0
	mock_stop
	check "$1: the server reads the project" sh -c 'echo "$1" | grep -q "\"answer\""' sh "$(mock_result "/run/$1.log" inside | tr -d '\134')"
	check "$1: and a read path" sh -c 'echo "$1" | grep -q "shared text"' sh "$(mock_result "/run/$1.log" shared)"
	equal "$1: it writes the project" "$(cat "$project/by-mcp" 2>&1)" 'written by the server'
	equal "$1: as the user's file" "$(stat -c %U "$project/by-mcp" 2>&1)" dev
	check "$1: it runs as the session's account" sh -c 'echo "$1" | grep -q "^agentcell-.*mcp-server"' sh "$(mock_result "/run/$1.log" who | grep -o 'agentcell-.*')"
	equal "$1: nothing denied that matters" "$(cell_denials)" ''
	nothing_left "$1"
	# without the read path the same server must not see it
	mock_start /run/steps.json "$project" "/run/$1.log"
	cell_run "$1" "$project"
	mock_stop
	refute "$1: no read path, no text" grep -q 'shared text' "/run/$1.log"
	check "$1: control: the server looked" sh -c 'echo "$1" | grep -q "no file: ENOENT"' sh "$(mock_result "/run/$1.log" shared)"
	equal "$1: no escape by a server that looks for it" "$(cell_records escape)" ''
}

mcp_steps
[ $# != 0 ] || set -- claude codex opencode
for harness; do
	mcp "$harness"
done

# --- a harness in the user's own home
versions=/home/dev/.local/share/claude/versions
mkdir -p "$versions" /home/dev/.local/bin
cp --reflink=auto "$(readlink -f /usr/local/bin/claude)" "$versions/2.1.332"
ln -s "$versions/2.1.332" /home/dev/.local/bin/claude
mkdir -p /home/dev/tools && cp /bin/true /home/dev/tools/stranger
chown -R dev: /home/dev/.local /home/dev/tools
project=/home/dev/claude-project
make_project dev "$project"
mock_start "$tree/tests/harness/steps/work.json" "$project" /run/claude.log
cell_run_as claude "$project" /home/dev/.local/bin/claude -p do-it
equal "a harness in the user's home" "$?" 0
mock_stop
check 'it worked' grep -q ALL-DONE /run/claude.out
equal 'nothing denied that matters' "$(cell_denials)" ''
agent dev /home/dev/tools/stranger 2>/run/err
equal 'a program that no pattern covers is refused' "$?" 1
check 'it says why' grep -q 'packages' /run/err
chmod 0777 "$versions/2.1.332"
(cd "$project" && agent dev /home/dev/.local/bin/claude --version) 2>/run/err
equal 'one that others may write is refused' "$?" 1
check 'it says why' grep -q 'writable by nobody else' /run/err
chmod 0755 "$versions/2.1.332"
check 'control: as it was it runs' agent dev /home/dev/.local/bin/claude --version
finish
