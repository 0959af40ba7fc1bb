#!/bin/sh
# SPDX-License-Identifier: ISC
# Whose is what a session makes: the user's, at once, with the modes that the agent gave, as if she had
# made it herself; whatever her umask, her default ACLs and her groups are.
. "$(dirname "$0")/../lib/session.sh"

project=/home/dev/project
git config --system user.name dev && git config --system user.email dev@example.org
printf '[user]\n\tname = dev\n\temail = dev@example.org\n' >/home/dev/.gitconfig

# --- 0600, while the session is still running
as dev sh -c 'echo "secret token" >own && chmod 600 own'
agent dev sh -c 'umask 077; echo x >private; mkdir closed; echo y >closed/inner; cat own; touch ready; while [ ! -e stop ]; do sleep 0.05; done' \
	>/run/out 2>/run/err &
session=$!
wait_for 20 test -e $project/ready
equal 'a 0600 file of hers is read by the agent' "$(cat /run/out)" 'secret token'
equal 'a 0600 file of the agent is read by her at once' "$(as dev cat private closed/inner | tr '\n' ' ')" 'x y '
equal 'modes are what was asked for' "$(stat -c '%a %U:%G' $project/private $project/closed $project/closed/inner | tr '\n' ' ')" \
	'600 dev:dev 700 dev:dev 600 dev:dev '
check 'she may change and remove it' as dev sh -c 'chmod 644 private && echo z >>private && rm private && rm -r closed'
as dev sh -c 'echo written by her >hers; chmod 600 hers; touch stop'
wait "$session"
equal 'the session ends' "$?" 0

# --- umasks, kinds, times
for mask in 002 022 027 077; do
	(umask $mask && agent dev sh -c "echo x >f$mask; mkdir d$mask" >/dev/null 2>&1)
	outside=$(umask $mask; as dev sh -c "echo x >o$mask; mkdir p$mask; stat -c %a o$mask p$mask" | tr '\n' ' ')
	equal "umask $mask is hers" "$(stat -c %a $project/f$mask $project/d$mask | tr '\n' ' ')" "$outside"
done
agent dev sh -c 'mkfifo fifo; ln -s nowhere soft; echo x >a; ln a b; cp -p own copy; touch -d 2001-01-01 old; python3 -c "
import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")"; setfattr -n user.note -v x a; truncate -s 1G sparse; mv a c' >/run/out 2>&1
equal 'every kind of file is hers' "$(cd $project && stat -c '%U:%G' fifo soft b c copy old socket sparse | sort -u)" dev:dev
equal 'times can be set' "$(stat -c %Y $project/old)" "$(date -d 2001-01-01 +%s)"
equal 'attributes can be set' "$(getfattr --only-values -n user.note $project/c 2>/dev/null)" x
agent dev sh -c 'chown root a 2>/dev/null || chown 0 c 2>/dev/null || chgrp 0 c 2>/dev/null || echo good' >/run/out 2>/dev/null
equal 'nothing can be given away' "$(cat /run/out)" good
check 'no set-id bit anywhere' sh -c "! find $project -perm /6000 | grep ."

# --- files of others in her directory; default ACLs
echo theirs >$project/theirs && chown other:other $project/theirs && chmod 644 $project/theirs
agent dev sh -c 'cat theirs; echo x >>theirs 2>/dev/null || echo kept; mv theirs moved && rm moved && echo removed' >/run/out 2>/dev/null
equal "a file of somebody else's: as she could" "$(tr '\n' ' ' </run/out)" 'theirs kept removed '
as dev sh -c 'mkdir acl && setfacl -d -m u:other:rwx,g::r-x,o::- acl && echo 1 >acl/outside'
agent dev sh -c 'echo 1 >acl/inside; echo 1 >acl/set; setfacl -m u:1:r acl/set' >/run/out 2>&1
equal 'default ACLs hold inside as outside' "$(getfacl -p --omit-header $project/acl/inside)" "$(getfacl -p --omit-header $project/acl/outside)"
check 'an ACL can be set inside' sh -c "getfacl -n -p --omit-header $project/acl/set | grep -qx 'user:1:r--'"
equal '... and names nobody of the session' "$(getfacl -n -R -p $project/acl | grep -c ':70[0-9][0-9][0-9]:')" 0
mkdir $project/setgid && chown dev:other $project/setgid && chmod 2770 $project/setgid
agent dev sh -c 'echo x >setgid/f; mkdir setgid/d' >/run/out 2>&1
equal 'a set-group-id directory hands its group on' "$(stat -c '%U:%G %a' $project/setgid/d $project/setgid/f | tr '\n' ' ')" \
	'dev:other 2755 dev:other 644 '
told() { # what was refused with a chmod so far
	grep '"event":"denied"' "$json_log" | grep -c chmod
}
agent dev sh -c 'cp -rp setgid copied; tar cf - setgid | tar xpf - -C copied; chmod 2775 copied || echo refused' >/run/out 2>/dev/null
equal 'the set-group-id bit is refused' "$(cat /run/out)" refused
equal '... and a tool that restores it is not told of' "$(told)" 0
agent dev sh -c 'chmod 4755 setgid/f || echo refused' >/run/out 2>/dev/null
equal 'the set-user-id bit is refused' "$(cat /run/out)" refused
equal '... and told of' "$(told)" 1

# --- git on both sides
agent dev sh -ec 'git status >/dev/null; git add -A; git commit -qm inside; git log --oneline | wc -l' >/run/out 2>&1
equal 'git works inside' "$?" 0
check 'and outside, on what it made' as dev sh -ec 'git status >/dev/null; git log -1 --format=%s | grep -qx inside; echo x >new; git add new; git commit -qm outside'
agent dev sh -ec 'git log -1 --format=%s | grep -qx outside; git fsck' >/run/out 2>&1
equal 'and inside again' "$?" 0
# The index notes owners.  Were they compared, every file would be read again on the way in and on the way out.
find $project -type f -exec touch -h -d '1 hour ago' {} +
as dev git status >/dev/null
index=$(sha256sum <$project/.git/index)
agent dev git status >/run/out 2>&1
equal 'git status inside finds the index good' "$(sha256sum <$project/.git/index)" "$index"
agent dev git -c core.checkStat=default status >/run/out 2>&1
refute 'control: with owners compared it does not' test "$(sha256sum <$project/.git/index)" = "$index"
equal 'all of it is hers' "$(find $project/.git ! -user dev | wc -l)" 0
nothing_left ownership
finish
