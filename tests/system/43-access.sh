#!/bin/sh
# SPDX-License-Identifier: ISC
# access = acl: a project on overlayfs, which cannot be idmapped, is given to the session by ACLs, and
# everything is as before afterwards: owners, modes and the ACLs that were there.  Also after an escape,
# when everything was killed, when the project was moved meanwhile, and when the machine went down.
. "$(dirname "$0")/../lib/session.sh"

role=agentcell-worker
home=/home/dev
overlay=$home/overlay
project=$overlay/project

mkdir -p $home/lower/project/sub/deep $home/lower/project/hidden $home/upper $home/work $overlay
(
	cd $home/lower/project || exit 1
	echo text >text && echo secret >secret && chmod 600 secret && echo tool >tool && chmod 755 tool
	echo below >sub/below && chmod 750 sub && chmod 2775 sub/deep && echo no >hidden/key
	ln -s /etc/passwd link && printf odd >"$(printf 'a\nb')"
	echo acl >named && setfacl -m u:other:rw,m::r named
	mkdir inherits && setfacl -d -m u:other:rwx inherits
	echo all: >Makefile && echo root >roots && git init -q .
)
chown -R -h dev:dev $home/lower $home/upper $overlay
chown root:root $home/lower/project/roots && chmod 644 $home/lower/project/roots
git config --system user.name dev && git config --system user.email dev@example.org
printf '[user]\n\tname = dev\n\temail = dev@example.org\n' >/home/dev/.gitconfig && chown dev:dev /home/dev/.gitconfig
mount -t overlay overlay -o lowerdir=$home/lower,upperdir=$home/upper,workdir=$home/work $overlay

in_project() { # command...
	(cd $project && exec setpriv --reuid dev --regid dev --init-groups \
		env -i PATH=/usr/bin:/bin HOME=$home USER=dev LOGNAME=dev LANG=C TERM=dumb "$@" 8>&-)
}

session() { # script [setting...]
	session_script=$1
	shift
	in_project sudo -n -u $role "$@" sh -c "$session_script" >/run/out 2>/run/err
}

listing() { # owners, modes, ACLs and contents; not sizes of directories, which are the file system's
	(cd $project && find . -print0 | sort -z | xargs -0 getfacl -P -p -n
	find . -type d -printf '%p %y %U:%G %m\n' -o -printf '%p %y %U:%G %m %s %l\n' | sort
	find . -type f -exec sha256sum {} + | sort) 2>&1
}

as_before() { # name
	listing >/run/after
	check "$1" diff -u /run/before /run/after
	refute "... and no entry and nothing of a session is left" sh -c \
		"getfacl -R -P -p -n $overlay 2>/dev/null | grep -E ':70[0-9]{3}:' || find $overlay -uid +69999 -o -gid +69999 | grep ."
}

until_stopped='touch up; while [ ! -e stop ]; do sleep 0.05; done'
begin() { # script: a session in the background that has access
	in_project sudo -n -u $role sh -c "$1" >/run/out 2>/run/err &
	runner=$!
	wait_for 60 test -e $project/up
}

session true
equal 'by default it is refused' "$?" 1
check 'and the refusal tells of the way out' grep -q 'access = acl' /run/err

echo '[paths]
access = acl' >>/etc/agentcell/agentcell.conf
listener_stop
listener_start || exit 1
(cd $home/project && find . -printf '%p %U:%G %m %C@\n' | sort) >/run/before
as dev sudo -n -u $role true >/run/out 2>&1
equal 'a project that can be idmapped is opened' "$?" 0
(cd $home/project && find . -printf '%p %U:%G %m %C@\n' | sort) >/run/after
check 'and not touched' cmp /run/before /run/after
check 'doctor tells of it' sh -c "agentcell doctor --project $project | grep -q 'cannot be idmapped: sessions there need its ACLs'"

# --- what can be done there, and what is left of it
listing >/run/before
(
	umask 027
	session 'cat text secret sub/below && echo more >>text && echo new >sub/made && chmod 600 sub/made &&
		echo z >sub/deeper && mkdir -p sub/deep/er && echo x >sub/deep/er/file && ln text hard && mv tool tool2 && mv tool2 tool
		id -u; getfacl -n text; echo y >inherits/child; mkfifo pipe
		: >planted; setfacl -m u:70123:rwx planted' AGENTCELL_EXCLUDE=hidden
)
equal 'the agent reads and writes there' "$? $(sed -n '2p' /run/out)" '0 secret'
check 'the terms say how' grep -q 'access .*ACL' /run/err
check 'it was by an ACL' grep -q '^user:7[0-9]*:rw' /run/out
equal "what it made is the user's, as made, less her umask" \
	"$(cd $project && stat -c '%U:%G %a' sub/made sub/deeper sub/deep/er/file pipe | tr '\n' ' ')" \
	'dev:dev 600 dev:dev 640 dev:dev 640 dev:dev 640 '
equal 'what it changed has its text' "$(cat $project/text)" "$(printf 'text\nmore')"
(cd $project && rm -r sub/made sub/deeper sub/deep/er hard inherits/child pipe planted && echo text >text)
as_before 'owners, modes and ACLs are as before'

session true
refute 'what did not change is not told of' grep -q 'changed in this session' /run/err
session 'echo x: >>Makefile'
check 'and what did is' grep -q 'Makefile  (' /run/err || cat /run/err
echo all: >$project/Makefile

session 'cat hidden/key' AGENTCELL_EXCLUDE=hidden
refute 'what is excluded is not read' grep -qx no /run/out
session 'echo x >>roots'
equal "another owner's file is not given" "$(cat $project/roots)" root
session 'git status >/dev/null && git add -A . 2>/dev/null; git commit -qm inside text && git log --format=%s'
equal 'git works inside' "$(cat /run/out)" inside
equal 'and outside' "$(in_project sh -c 'git status >/dev/null && git log --format=%s && git commit -q --allow-empty -m outside && git fsck' 2>/dev/null)" inside
nothing_left 'sessions by ACL'
listing >/run/before

# --- one at a time; an escape; the way back
begin "$until_stopped"
other=$(in_project sudo -n -u $role true 2>&1)
check 'a second session in the same tree is refused' sh -c 'echo "$1" | grep -q "session [0-9a-f]* has access to"' sh "$other"
check 'and the first goes on' sh -c "getfacl -c -n -p $project/secret | grep -q '^user:7'"
touch $project/stop
wait "$runner"
equal 'and ends well' "$?" 0
rm $project/stop $project/up
as_before 'all is as before'
session 'rm -rf .git sub; echo evil >text; mkdir d; echo new >d/new; chmod 700 d; cat /home/dev/.ssh/id_ed25519; sleep 60; echo survived'
equal 'an escape there is killed' "$? $(grep -c survived /run/out)" '137 0'
restore=$(sed -n 's/^.*\(agentcell restore .*\)$/\1/p' /run/err | head -n 1)
check 'the report has a restore command' test -n "$restore"
check 'which works' in_project sh -c "$restore"
rm -rf $project/d
as_before 'byte for byte all is as before'

# --- killed: the next listener takes the entries away
crash() {
	sudo_pid=$(sed -n 's/.*"sudo_pid": *\([0-9]*\).*/\1/p' /run/agentcell/sessions/*/policy.json)
	kill -9 "$sudo_pid" "$listener"
	wait "$listener" "$runner" 2>/dev/null
	listener=
}
begin 'echo up >up; sleep 60'
check 'while it runs its entry is there' sh -c "getfacl -c -n -p $project/secret | grep -q '^user:7'"
crash
listener_start || exit 1
check 'after a crash nothing is left' wait_for 60 no_remains
equal 'and what was made is hers' "$(stat -c %U:%G $project/up)" dev:dev
rm $project/up
as_before 'after a crash all is as before'

notes=/var/lib/agentcell/acl
# --- moved meanwhile.  What lay on the lower layer is copied by mv, what was made here is renamed.
cp -a $project $overlay/own && project=$overlay/own
listing >/run/before
inode=$(stat -c %i $project)
begin "$until_stopped"
mv $overlay/own $overlay/moved && touch $overlay/moved/stop
wait "$runner"
equal 'a project that is renamed meanwhile is found all the same' "$? $(stat -c %i $overlay/moved)" "0 $inode"
nothing_left 'a renamed project'
mv $overlay/moved $overlay/own
rm $project/stop $project/up
as_before 'it is as before'

begin "$until_stopped"
cp -a $overlay/own $overlay/copy && mv $overlay/own $overlay/old && mv $overlay/copy $overlay/own
touch $overlay/old/stop
wait "$runner"
equal 'a project that took the place of its original' "$(stat -c %i $project | grep -cx "$inode")" 0
nothing_left 'a copied project'
rm -r $overlay/old $project/up
as_before 'both are clean'

inode=$(stat -c %i $project)
begin "$until_stopped"
uid=$(getfacl -c -n -p $project/secret | sed -n 's/^user:\(7[0-9]*\):.*/\1/p')
crash
mv $overlay/own $overlay/moved && mkdir $project && chown dev:dev $project
listener_start || exit 1
check 'moved away, and the listener was killed: the new one says so' wait_for 60 grep -q "$project was moved away or replaced" /run/syslog
check 'and the uid is not free' test -e "/run/agentcell/uids/$uid"
session 'echo x >x'
equal 'what lies there now can be used' "$? $(stat -c %U $project/x)" '0 dev'
check 'and the uid is still not free' test -e "/run/agentcell/uids/$uid"
rm -r $project && mv $overlay/moved $overlay/own
equal 'back it is the same' "$(stat -c %i $project)" "$inode"
nothing_left 'back at its place, without a restart,'
rm $project/up
as_before 'it is as before'

# --- its path leads to a server that is gone: nobody waits for that but the one who looks
if [ -e /dev/fuse ]; then
	begin "$until_stopped"
	crash
	cat >/run/gone.py <<-'END'
		import ctypes, os, sys, time
		fd = os.open("/dev/fuse", os.O_RDWR)
		options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd
		if ctypes.CDLL(None).mount(b"gone", os.fsencode(sys.argv[1]), b"fuse", 0, options):
		    sys.exit("mount")
		open("/run/gone", "w").close()
		time.sleep(600)
	END
	/usr/bin/python3 /run/gone.py $overlay 8>&- &
	server=$!
	wait_for 10 test -e /run/gone
	refute 'control: who looks there waits' timeout 2 stat $project
	listener_start
	equal 'a listener that has access to take back there starts all the same' "$?" 0
	equal "another user's session runs meanwhile" "$(agent other sh -c 'echo "$AGENTCELL_SESSION" | grep -c .' 2>/run/err)" 1
	check '... and the access is not forgotten' sh -c "ls $notes/7* >/dev/null"
	umount -l $overlay
	kill "$server"
	wait "$server" 2>/dev/null
	nothing_left 'when the server is back'
	rm $project/up
	as_before 'it is as before'
else
	skip 'a server that is gone' 'needs /dev/fuse'
fi

# --- the power is cut: what is in /run is gone, the entries are on disk
printf '[firewall]\nenabled = no\n' >>/etc/agentcell/agentcell.conf # whose elements a restart takes away
begin 'echo made >up; sleep 60'
uid=$(getfacl -c -n -p $project/secret | sed -n 's/^user:\(7[0-9]*\):.*/\1/p')
check 'a note of the access lies on disk, for root alone' \
	sh -c "[ \"\$(stat -c '%U %a' $notes $notes/$uid | tr '\n' ' ')\" = 'root 700 root 600 ' ]"
crash
for cell in $(cell_cgroups); do
	echo 1 >"$cell/cgroup.kill"
done
wait_for 30 sh -c "! ps -eo uid=,stat= | grep '^ *$uid [^Z]'"
for cell in $(cell_cgroups | sort -r); do
	wait_for 10 rmdir "$cell"
done
umount $overlay
find /run/agentcell /run/userdb -mindepth 1 ! -path /run/agentcell/kernel -delete # that is of this kernel
mount -t tmpfs tmpfs /mnt # and what had been the device's number is another's
before_them() { # the next uid that is looked at is that of the session that was cut off
	[ -d /run/agentcell/uids ] || mkdir -m 700 /run/agentcell/uids
	echo $((uid - 1)) >/run/agentcell/uids/.last
}
before_them
listener_start || exit 1
check 'the listener cannot take it back while the project is not there' \
	wait_for 30 grep -q "access by ACL that was left .* uid $uid not used" /run/syslog
equal "meanwhile another user's session gets the next uid" "$(agent other id -u 2>/run/err)" $((uid + 1))
check '... and the note stands' test -e "$notes/$uid"
listener_stop
mount -t overlay overlay -o lowerdir=$home/lower,upperdir=$home/upper,workdir=$home/work $overlay
umount /mnt
check 'in the file system the entries are still there' sh -c "getfacl -c -n -p $project/secret | grep -q '^user:$uid:'"
listener_start || exit 1
nothing_left 'once the project is there again'
check 'which is told' wait_for 10 grep -q "in the middle of it; its access by ACL is taken back, uid $uid is free" /run/syslog
equal 'what was made is hers' "$(stat -c %U:%G $project/up)" dev:dev
rm $project/up
as_before 'it is as before'
before_them
equal 'and the uid is used again' "$(agent other id -u 2>/run/err)" "$uid"

# --- FUSE shows ACLs and does not heed them
if [ -e /dev/fuse ] && command -v bindfs >/dev/null; then
	project=$home/fuse/project
	mkdir $home/fuse && chown dev:dev $home/fuse && bindfs -o allow_other $home/lower $home/fuse 8>&-
	(cd $home/lower && find . -exec getfacl -P -p -n {} +) >/run/before 2>&1
	session true
	equal 'FUSE is refused' "$? $(grep -c 'is on FUSE, which has ACLs but does not heed them' /run/err)" '1 1'
	(cd $home/lower && find . -exec getfacl -P -p -n {} +) >/run/after 2>&1
	check 'and nothing was touched' cmp /run/before /run/after
	check 'doctor says so, too' sh -c "agentcell doctor --project $project | grep -q 'is on FUSE'"
	umount $home/fuse
else
	skip 'FUSE is refused' 'needs bindfs and /dev/fuse'
fi
finish
