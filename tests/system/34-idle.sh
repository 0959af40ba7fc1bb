#!/bin/sh
# SPDX-License-Identifier: ISC
# A session in a project full of odd files changes nothing there: owner, mode, times (ctime too), ACL,
# extended attributes, link counts, content.  That holds for what denies its own owner too, which the
# backup reads without a chmod.
. "$(dirname "$0")/../lib/session.sh"

cd /home/dev/project || exit 1
mkdir -p a/b/c 'with blank' d0 && chmod 0 d0
echo x >a/plain; chmod 600 a/plain; ln a/plain a/hard; ln -s /home/dev/.ssh/id_ed25519 link; ln -s nowhere dangling
printf 'x' >"$(printf 'new\nline')"; printf 'x' >"$(printf '\377bytes')"; : >'  '
truncate -s 10M sparse; mkfifo fifo; touch unreadable; chmod 0 unreadable
setfacl -m u:other:r a/plain; setfacl -d -m g:dev:rwx a/b; setfattr -n user.note -v kept a/hard
cp /bin/true tool; chmod 4755 tool; mkdir -m 2775 shared; touch -d '1999-01-01' old
mkdir -p closed/inner noexec noread; echo deep >closed/inner/file; echo shut >closed/shut; ln -s shut closed/link
mkfifo closed/fifo; echo w >wonly; echo n >noexec/file; echo r >noread/file; echo hidden >closed/inner/attr
setfattr -n user.note -v kept closed/shut unreadable closed/inner
chmod 0 closed/shut closed/inner/attr closed/inner closed; chmod 200 wonly; chmod 600 noexec; chmod 300 noread
chown -hR dev:dev .; chgrp other shared; touch foreign; chown other:other foreign
cat >/run/list <<-'END'
	cd /home/dev/project
	find . -printf '%p %y %i %n %U:%G %m %s %T@ %C@ %l\n' | sort
	getfacl -R -p . 2>/dev/null
	getfattr -R -d -m - . 2>/dev/null
	find . -type f -print0 | sort -z | xargs -0 cksum
END
sh /run/list >/run/before
cd /
check 'the listing sees a change' sh -c 'touch /home/dev/project/a; ! sh /run/list | cmp -s - /run/before'
sh /run/list >/run/before
check 'it has what denies its owner' sh -c 'test "$(grep -cE "(closed|unreadable|d0|noexec|wonly)" /run/before)" -gt 9'
agent dev AGENTCELL_RISK=medium sleep 1 >/run/out 2>&1
equal 'an idle session ends well' "$?" 0
sh /run/list >/run/after
check 'and has changed nothing' diff -u /run/before /run/after

# And the backup has all of it.
cat >/run/list <<-'END'
	cd /home/dev/project
	find closed unreadable wonly noexec noread -printf '%p %y %U:%G %m %s %T@ %l\n' | sort
	getfattr -R -d -m - closed unreadable
	find closed unreadable wonly noexec noread -type f -print0 | sort -z | xargs -0 cksum
END
sh /run/list >/run/before
(cd /home/dev/project && rm -rf closed unreadable wonly noexec noread)
check 'what denied its owner is restored after its loss' as dev agentcell restore
sh /run/list >/run/after
check 'as it was' diff -u /run/before /run/after

# With it goes what was so when it was made.
cat >/run/snapshot.py <<-'END'
	import hashlib, json, os, sys
	snapshot = next(b for b in json.load(sys.stdin) if b["end"] == "clean")["environment"]
	words = json.dumps(snapshot)
	assert {"HOME", "PATH", "AGENTCELL_SESSION"} <= set(snapshot["variables"]), words
	assert "TERM=" not in words and "/usr/bin:/bin" not in words, words # names, never values
	assert snapshot["git"] == [{"path": "/home/dev/project", "branch": sys.argv[1]}], words
	assert snapshot["kernel"]["release"] == os.uname().release, words
	config = snapshot["config"]
	assert config["sha256"] == hashlib.sha256(open(config["path"], "rb").read()).hexdigest(), words
	assert snapshot["harness"]["path"] == "/usr/bin/sleep" and snapshot["harness"]["size"] > 1000, words
	assert snapshot["policy"]["risk"] == "medium", words
END
as dev agentcell backups --json >/run/backups.json
branch=$(sed 's/ref: //' /home/dev/project/.git/HEAD)
check 'the snapshot of variables, harness, git, kernel and config is with it' \
	sh -c "/usr/bin/python3 /run/snapshot.py '$branch' </run/backups.json"
nothing_left 'idle'
finish
