#!/bin/sh
# SPDX-License-Identifier: ISC
# agentcell explain, check, sessions, kill and log, beside real sessions.
. "$(dirname "$0")/../lib/session.sh"

conf=/etc/agentcell/agentcell.conf

# --- explain
as dev agentcell explain sh >/run/out 2>/run/err
equal 'explain accepts a project' "$?" 0
check 'it names the project' grep -Eq '^  read-write +/home/dev/project$' /run/out
check 'and the account' grep -Eq '^  runs as +agentcell-<session>, a uid of 70000-70999' /run/out
as dev agentcell explain --json AGENTCELL_RISK=high AGENTCELL_WALL_CLOCK=90 claude >/run/out
check 'explain takes settings and picks the profile' /usr/bin/python3 -c '
import json
e = json.load(open("/run/out"))
assert e["harness"] == "claude_code" and e["risk"] == "high" and e["wall_clock_s"] == 90, e
assert "api.anthropic.com:443" in e["endpoints"] and e["problems"] == [], e'
as dev env ANTHROPIC_API_KEY=canary-key agentcell explain claude >/run/out
check 'explain names a key that passes in' grep -q ANTHROPIC_API_KEY /run/out
refute 'and not its value' grep -q canary-key /run/out
for wish in AGENTCELL_PATHS=/home/dev/.ssh AGENTCELL_PATHS=/etc AGENTCELL_PATHS=/home/other/project \
	AGENTCELL_RISK=low AGENTCELL_WALL_CLOCK=1000d AGENTCELL_ENDPOINTS=x.example:1; do
	as dev agentcell explain "$wish" sh >/run/out 2>&1
	equal "explain refuses $wish" "$? $(grep -c REFUSED /run/out)" '1 1'
	as dev sudo -n -u agentcell-worker "$wish" true >/run/out 2>&1
	equal "and so does sudo" "$?" 1
done
echo '[paths]' >>$conf
echo 'project_roots = /srv' >>$conf
as dev agentcell explain sh >/run/out 2>&1
equal 'explain knows project_roots' "$? $(grep -c 'REFUSED.*project_roots' /run/out)" '1 1'
sed -i '$d' $conf
sed -i '$d' $conf

# --- check
as dev agentcell check $conf >/run/out 2>/run/err
equal 'check accepts the installed file' "$? $(cat /run/out)" '0 valid'
for profile in /etc/agentcell/harness.d/*.conf; do
	check "check accepts ${profile##*/}" agentcell check "$profile"
done
printf '[session]\nrisk = none\n[limits]\nmemory = much\n' >/run/draft
agentcell check /run/draft >/run/out 2>/run/err
equal 'check refuses a bad draft' "$?" 1
equal 'naming each line' "$(grep -c '^/run/draft:[24]: ' /run/err)" 2
agentcell check --json /run/draft >/run/out 2>/dev/null
check 'in JSON too' /usr/bin/python3 -c '
import json
r = json.load(open("/run/out"))
assert r["valid"] is False and len(r["problems"]) == 2, r'
printf '[harness]\ncommands = x\n' >/run/draft
refute 'a profile is no main file' agentcell check /run/draft
check 'unless it is called one' agentcell check --harness /run/draft

# --- sessions and kill
check 'no session is running' sh -c 'agentcell sessions | grep -qx "no session is running"'
equal 'in JSON' "$(agentcell sessions --json)" '[]'
agent dev sh -c 'sleep 60' >/run/out 2>/run/err &
dev_pid=$!
is_listed() {
	agentcell sessions --json | grep -q '"state":"running"'
}
check 'a running session is listed' wait_for 20 is_listed
id=$(agentcell sessions | sed -n 's/^\([0-9a-f]\{12\}\) .*/\1/p')
check 'in the table too' test -n "$id"
check 'with its user' sh -c "agentcell sessions | grep -Eq '^$id  running  running  dev '"
equal 'its user sees it' "$(as dev agentcell sessions | grep -c "^$id")" 1
equal 'nobody else does' "$(as other agentcell sessions)" 'no session is running'
as other agentcell kill "$id" >/run/out 2>/run/kill
equal 'nobody else may end it' "$?" 1
check 'and it runs on' is_listed
check 'its user may' as dev agentcell kill "$id"
wait $dev_pid
check 'then sudo ends' test $? -ne 0
equal 'and it is listed no more' "$(agentcell sessions)" 'no session is running'
nothing_left 'kill'
agentcell kill 000000000000 >/dev/null 2>/run/err
equal 'an unknown session cannot be killed' "$?" 1
agentcell kill '../../x' >/dev/null 2>/run/err
equal 'a path is no session' "$?" 1

# --- log
agentcell log -n 0 --session "$id" >/run/out
check 'the log has its start' grep -Eq " start +$id +planned/none" /run/out
check 'and its end' grep -Eq " end +$id +ended/" /run/out
agentcell log --json -n 0 >/run/out
check 'JSON: one object a line, every field there' /usr/bin/python3 -c '
import json
lines = [json.loads(line) for line in open("/run/out")]
assert len(lines) >= 3
for line in lines:
    assert list(line)[:5] == ["time", "event", "session_id", "status", "cause"], line'
equal '-n 1 shows one line' "$(agentcell log -n 1 | wc -l)" 1
as dev agentcell log >/run/out 2>/run/err
equal 'the log is not for everybody' "$? $(grep -c adm /run/err)" '1 1'
usermod -aG adm other
check 'but for group adm' as other agentcell log
echo '{"torn' >>$json_log
agentcell log -n 0 >/run/out 2>/run/err
equal 'a torn line does not stop it' "$? $(grep -c 'torn' /run/err)" '0 1'

# --- usage
for words in '' nonsense 'sessions x' 'kill' 'check' 'log -n x' 'log --nonsense' 'doctor x' 'kill a b'; do
	# shellcheck disable=SC2086
	agentcell $words >/run/out 2>/run/err
	equal "wrong usage: agentcell $words" "$? $(wc -c </run/out)" '2 0'
done
for words in --help --version 'explain --help' 'doctor --help' 'check --help' 'sessions --help' 'kill --help' 'log --help'; do
	# shellcheck disable=SC2086
	agentcell $words >/run/out 2>/run/err
	equal "agentcell $words" "$? $(wc -c </run/err)" '0 0'
done
agentcell --help >/dev/full 2>/run/err
equal 'a full disk is no success' "$?" 1
finish
