#!/bin/sh
# SPDX-License-Identifier: ISC
# attacks.md 30, 31, 43: names that lead elsewhere, names that change while they are looked at, and a
# package that runs a program when it is installed.  tests/system/31-refused.sh has the plain names.
. "$(dirname "$0")/lib.sh"

unfit() { # name, setting, pattern: no session, no agent process
	rm -f $project/ran
	if as dev sudo -n -u $role "$2" touch ran >/run/out 2>/run/err; then
		tap_fail "$1: refused" "$(cat /run/out /run/err)"
	else
		check "$1: refused, with the reason" grep -Eqi -- "$3" /run/err
	fi
	refute '... nothing ran' test -e $project/ran
}

# --- 43: other names
mkdir -p /home/rootonly $home/binds/etc $home/binds/home $home/bound && chmod 700 /home/rootonly && echo 'secret of root' >/home/rootonly/file
chown -R dev:dev $home/binds $home/bound
check 'control: the file is there' grep -q secret /home/rootonly/file
mount --bind /etc $home/binds/etc
mount --bind $home $home/binds/home
unfit 'another name of /etc' "AGENTCELL_READ_PATHS=$home/binds/etc" 'another name'
unfit 'another name of the home' "AGENTCELL_PATHS=.:$home/binds/home" 'home directory'
unfit "the kernel's name of the directory" 'AGENTCELL_PATHS=/proc/self/cwd' 'symbolic link|reach|refused'
unfit "the kernel's name of the root" 'AGENTCELL_READ_PATHS=/proc/self/root/home/dev/project' 'symbolic link|reach|refused'
unfit 'a directory of root by a link' "AGENTCELL_PATHS=.:$home/to-root" 'reach|no such'
ln -s /home/rootonly $home/to-root
unfit 'a directory of root by a link that is there' "AGENTCELL_PATHS=.:$home/to-root" 'permission denied'
unfit "another user's project" 'AGENTCELL_READ_PATHS=/home/other/project' 'permission denied'
unfit 'above the homes, by ..' 'AGENTCELL_READ_PATHS=../..' 'refused|home'
unfit 'a device' 'AGENTCELL_READ_PATHS=/dev/null' 'cannot be declared|neither'
mkfifo $home/fifo && chown dev $home/fifo
unfit 'a pipe' "AGENTCELL_PATHS=.:$home/fifo" 'neither a directory nor'
umount $home/binds/etc $home/binds/home

# --- 43: a name that changes all the time between a project of hers and a directory of root's
mkdir $home/mine && echo mine >$home/mine/file && chown -R dev:dev $home/mine
rm $home/to-root && ln -s /home/rootonly $home/link && chown -h dev:dev $home/link
cat >/run/swap.py <<-'END'
	import ctypes, os, random, time
	libc = ctypes.CDLL(None)
	while not os.path.exists("/home/dev/stop"):
	    for i in range(random.randrange(1, 200)):
	        libc.renameat2(-100, b"/home/dev/mine", -100, b"/home/dev/link", 2)
	    time.sleep(random.random() / 3)
END
chmod 755 /run /run/swap.py
setpriv --reuid dev --regid dev --clear-groups /usr/bin/python3 /run/swap.py 8>&- &
swapper=$!
seen=0 i=0
while [ $seen = 0 ] && [ $i -lt 3000 ]; do
	! grep -qs 'secret of root' $home/mine/file || seen=1
	i=$((i + 1))
done
equal 'control: root, who goes by the name, sees what is not hers' "$seen" 1
ran=0 refused=0 leaked=0 i=0
while [ $i -lt 20 ]; do
	i=$((i + 1))
	if as dev sudo -n -u $role "AGENTCELL_PATHS=.:$home/mine" sh -c "cat $home/mine/file $home/link/file" >/run/out 2>/run/err; then
		ran=$((ran + 1))
	else
		refused=$((refused + 1))
	fi
	! grep -q 'secret of root' /run/out /run/err || leaked=$((leaked + 1))
done
touch $home/stop
wait "$swapper"
equal "$i sessions against it ($ran ran, $refused did not): nothing of root's is seen" "$leaked" 0
nothing_left 'the race'

# --- 30: what a package runs when it is installed
if command -v npm >/dev/null; then
	mkdir -p $home/.aws && echo 'secret of aws' >$home/.aws/credentials
	printf '{"name":"evil","version":"1.0.0","scripts":{"postinstall":"cat %s/.aws/credentials >stolen; cp -r %s/.ssh ssh-stolen"}}' $home $home \
		>$project/package.json
	chown -R dev:dev $home/.aws $project
	control 'a package that steals' 'npm install --offline --no-audit --no-fund >/dev/null 2>&1; grep -q secret stolen && test -e ssh-stolen/id_ed25519'
	rm -rf $project/stolen $project/ssh-stolen $project/package-lock.json
	escapes 'a package that steals' "$home/.aws" 'npm install --offline --no-audit --no-fund'
	refute '... got nothing' grep -rqs secret $project/stolen $project/ssh-stolen
else
	skip 'a package that steals' 'needs npm'
fi

# --- 31: what holds the session
escapes 'remount what holds the session' mount 'mount -o remount,rw /'
refused 'rename and cover what holds the session' /usr '! rm -f /usr/bin/env 2>/dev/null
	! mv /usr /x 2>/dev/null; ! mkdir /usr/x 2>/dev/null; test ! -e /etc/agentcell && test ! -e /etc/sudoers && test ! -e /run/agentcell && echo good'
nothing_left paths
finish
