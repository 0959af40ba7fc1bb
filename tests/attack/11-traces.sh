#!/bin/sh
# SPDX-License-Identifier: ISC
# attacks.md 3, 5, 6, 10, 11, 32, 34, 36, 37, 39: destroying, and staying behind: in the project, in git,
# in homes, in temporary directories, as a process.
. "$(dirname "$0")/lib.sh"

printf '[user]\n\tname = Dev\n\temail = dev@example.org\n' >$home/.gitconfig
chown dev:dev $home/.gitconfig
outside 'git add -A && git commit -qm first'

# --- 3: rm -rf
cp -a $project $home/before
mkdir $home/precious && echo precious >$home/precious/file && chown -R dev:dev $home/precious
outside "mkdir gone && echo x >gone/x && rm -rf gone"
check 'control: rm -rf removes, outside' sh -c "! test -e $project/gone"
: >"$json_log"
agent dev sh -c "rm -rf $project/* $project/.git $project/.[!.]* / $home --no-preserve-root; sleep 5; echo went-on" >/run/out 2>/run/err
equal 'rm -rf of everything: killed' "$?" 137
check '... on record' log_has event=escape
check '... the rest of the home is there' test -s $home/precious/file -a -s $home/.ssh/id_ed25519 -a -s $home/.gitconfig
check '... the machine is there' test -x /usr/bin/env -a -s /etc/passwd
refute '... the project is not' test -e $project/text
restore=$(sed -n 's/^.*\(agentcell restore .*\)$/\1/p' /run/err | head -n 1)
check '... comes back' outside "$restore"
check '... whole' diff -r --no-dereference $home/before $project

# --- 10, 11, 32: one session after the other
: >"$json_log"
inside 'mkdir -p ~/.claude ~/.config && echo evil >~/.claude/settings.json && echo evil >~/.claude.json && echo evil >~/.profile
	echo evil >/tmp/evil; echo evil >/var/tmp/evil2; echo evil >/dev/shm/evil; echo good'
equal 'a session may write its own home and scratch' "$(tail -n 1 /run/out)" good
refuse_traces='! test -e ~/.claude && ! test -e ~/.claude.json && ! test -e ~/.profile && test -z "$(ls -A /tmp /var/tmp /dev/shm | grep evil)" && echo good'
refused 'the next one sees nothing of it' '' "$refuse_traces"
refute '... nor does the host' sh -c 'ls -A /tmp /var/tmp /dev/shm /home/dev | grep evil'

# --- 5, 37: the project itself may be written, and is reported (tests/system/41-aftermath.sh)
inside 'mkdir -p .claude && echo "{\"hooks\":{}}" >.claude/settings.json && echo x >CLAUDE.md'
check "settings for the user's own agent are reported" log_has event=changed files=.claude/settings.json
rm -rf $project/.claude $project/CLAUDE.md

# --- 6, 36: git
ran=$home/ran
evil="touch $ran"
git_evil() { # name, a script that arms it, what the user then does
	rm -f $ran
	outside "cp -a .git ../saved; $2" >/dev/null 2>&1
	outside "$3" >/dev/null 2>&1
	if [ ! -e $ran ]; then
		tap_fail "control: $1, armed outside, runs"
	else
		tap_pass "control: $1, armed outside, runs"
	fi
	outside 'rm -rf .git .gitattributes && mv ../saved .git'
	rm -f $ran
	inside "$2; echo good" >/dev/null 2>&1
	outside "$3" >/dev/null 2>&1
	refute "$1, armed in a session, does not" test -e $ran
	check "... which ended by itself" log_has event=end cause=clean
	rm -f $ran
	outside 'git checkout -qf; rm -f .gitattributes'
}
git_evil 'a hook' "printf '#!/bin/sh\n$evil\n' >.git/hooks/post-checkout && chmod 755 .git/hooks/post-checkout" 'git checkout -q -b new1'
git_evil 'core.hooksPath' "mkdir -p .h && printf '#!/bin/sh\n$evil\n' >.h/post-checkout && chmod 755 .h/post-checkout && git config core.hooksPath .h" \
	'git checkout -q -b new2'
git_evil 'core.fsmonitor' "printf '#!/bin/sh\n$evil\n' >.f && chmod 755 .f && git config core.fsmonitor ./.f" 'git status'
git_evil 'core.sshCommand' "git config core.sshCommand '$evil' && git config remote.o.url ssh://nowhere.invalid/x" 'git fetch o'
git_evil 'a filter' "git config filter.x.clean '$evil; cat' && echo '* filter=x' >.gitattributes; touch text" 'touch text; git add text'
git_evil 'an alias' "git config alias.st '!$evil'" 'git st'
git_evil 'a config written beside it' "cp .git/config c && printf '[alias]\n\tst = !$evil\n' >>c && mv c .git/config" 'git st'
git_evil 'the git directory replaced' "cp -a .git g; rm -rf .git/hooks; printf '#!/bin/sh\n$evil\n' >g/hooks/post-checkout; chmod 755 g/hooks/post-checkout
	mv .git old && mv g .git" 'git checkout -q -b new3'
git_evil 'commondir' "cp -a .git .g && printf '[alias]\n\tst = !$evil\n' >>.g/config && echo ../.g >.git/commondir" 'git st'
git_evil 'config.worktree' "git config extensions.worktreeConfig true; printf '#!/bin/sh\n$evil\n' >.f; chmod 755 .f
	printf '[core]\n\tfsmonitor = ./.f\n' >.git/config.worktree" 'git status'
rm -rf $project/.[fgh] $project/c $project/g $project/old
inside 'git config user.email "$(id)@x" 2>/dev/null; git -c user.email=other@x commit -q --allow-empty -m x; echo good'
equal "the user's name in git is not changed" "$(outside 'git config user.email')" dev@example.org

# --- 34: leftovers of access
list="find . -printf '%p %y %U:%G %m %l\n' | sort; getfacl -R -p . 2>/dev/null; getfattr -R -d -m - . 2>/dev/null"
outside "$list" >/run/before
check 'control: an ACL shows in the listing' sh -c "cd $project; setfacl -m u:other:r text; { $list; } >/run/changed; setfacl -b text; ! cmp -s /run/before /run/changed"
inside 'cat text >/dev/null; git status >/dev/null; sleep 0.2'
outside "$list" >/run/after
check 'no mode, owner, ACL or attribute is left by a session' diff -u /run/before /run/after

# --- 39: processes
outside 'setsid sh -c "sleep 61 & sleep 61" >/dev/null 2>&1 & sleep 0.2'
check 'control: a process in a session of its own stays, outside' pgrep -u dev -x sleep
pkill -u dev -x sleep
inside 'nohup sleep 62 >/dev/null 2>&1 & setsid sh -c "(sleep 62 &) ; sleep 62" >/dev/null 2>&1 &
	python3 -c "
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in range(1, 64):
            try: signal.signal(s, signal.SIG_IGN)
            except (OSError, ValueError): pass
        time.sleep(62)
    os._exit(0)"
	echo good'
equal 'a session that leaves processes ends' "$(tail -n 1 /run/out)" good
equal '... and they with it' "$(range_processes)" ''
check '... on record' log_has event=end cause=clean
nothing_left traces
finish
