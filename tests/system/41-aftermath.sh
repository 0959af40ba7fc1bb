#!/bin/sh
# SPDX-License-Identifier: ISC
# What a session leaves for the host to run or to obey is told at its end, on the terminal and in the
# log; what git would obey by itself is moved aside; and nothing is said of the rest.
. "$(dirname "$0")/../lib/session.sh"

cd /home/dev/project || exit 1
echo 'all:' >Makefile
printf '{}' >package.json
mkdir .vscode src node_modules && echo '{}' >.vscode/settings.json && echo 'int x;' >src/x.c
rm -r .git/hooks # then there is nothing to mount over
chown -hR dev:dev . && cd /
as dev git add -A && as dev git -c user.name=x -c user.email=x@y commit -qm first

agent dev sh -c 'echo "int y;" >src/y.c; cat Makefile package.json >/dev/null; touch Makefile; mkdir empty' >/run/out 2>/run/err
equal 'a session that changes nothing of the kind' "$?" 0
refute '... is told nothing' grep -q 'obeyed' /run/err
refute '... and logs nothing' log_has event=changed

cat >/home/dev/project/evil <<-'END'
	echo 'export EVIL=1' >.envrc
	echo 'run: evil' >>Makefile
	echo '{"mcpServers":{}}' >.mcp.json
	mkdir -p .github/workflows && echo evil >.github/workflows/ci.yml
	echo '{"tasks":[]}' >.vscode/tasks.json
	printf '#!/bin/sh\n' >src/program && chmod 755 src/program
	ln -s /home/dev/.bashrc notes
	for i in $(seq 40); do mkdir node_modules/p$i; echo x >node_modules/p$i/package.json; done
	mkdir .git/hooks && printf '#!/bin/sh\necho ran >/home/dev/hook-ran\n' >.git/hooks/post-checkout && chmod 755 .git/hooks/post-checkout
	echo ../evil >.git/commondir; mkdir -p .evil
	git init -q nested && git -C nested config core.fsmonitor ./evil
	echo >"$(printf 'new\nline.mk')"
	rm package.json
END
chown dev:dev /home/dev/project/evil
agent dev sh ./evil >/run/out 2>/run/err
equal 'a session that does' "$?" 0
check '... is told so' grep -q 'run or obeyed outside' /run/err
for line in '\.envrc  .direnv' 'Makefile  .make' '\.mcp\.json  .agents' 'workflows/ci\.yml  .CI' '\.vscode/tasks\.json  .the editor' \
	'src/program  .whoever runs it' 'notes  .*link to elsewhere' 'node_modules  .40 files: whoever' 'nested/\.git/config  .git' \
	'new%0Aline\.mk' 'agentcell diff 2'; do
	check "... $line" grep -Eq -- "$line" /run/err
done
refute 'what was only read, or removed, is not there' grep -Eq 'package\.json  |settings\.json  ' /run/err
check 'it is in the log' log_has event=changed user=dev files=.envrc
check '... with links and trees' log_has event=changed files=node_modules
check 'hooks made by the session are moved aside' test -x "$(echo /home/dev/project/.git/hooks.agentcell-*)/post-checkout"
refute '... and git finds none' test -e /home/dev/project/.git/hooks
refute 'so is a commondir' test -e /home/dev/project/.git/commondir
check '... and it is told' grep -Eq 'moved to (hooks|commondir)\.agentcell-' /run/err
as dev git checkout -q -b new >/dev/null 2>&1
refute "the user's git ran none of it" test -e /home/dev/hook-ran
mv /home/dev/project/.git/hooks.agentcell-* /home/dev/project/.git/hooks
as dev git checkout -q -b newer >/dev/null 2>&1
check 'control: it would have' test -e /home/dev/hook-ran

# On a terminal, and after an escape.
on_terminal dev -- sudo -u agentcell-worker sh -c 'echo x >>.envrc' >/run/out 2>&1
check 'on a terminal, too' grep -q '\.envrc  (direnv)' /run/out
agent dev sh -c 'echo x >>.envrc; cat /home/dev/.ssh/id_ed25519; sleep 20' >/run/out 2>/run/err
equal 'an escape' "$?" 137
check '... is told the same' grep -q '\.envrc  (direnv)' /run/err
nothing_left 'aftermath'
finish
