#!/bin/sh
# SPDX-License-Identifier: ISC
# Access by ACL, granted to trees and taken back: all is as before, after a crash at any change, too;
# nothing beside the tree is touched; deep and wide trees; who gets what; file systems that only pretend.
# shellcheck source=tests/cell/tap.sh
. "$(dirname "$0")/tap.sh"
private

access=$B/cell/access
work=$(mktemp -d)
mount -t tmpfs -o mode=755 tmpfs "$work" && mount -t tmpfs tmpfs /run || bail "no tmpfs"
mkdir -p /run/agentcell/uids
umask 022
cleanup() {
	cd / || exit
	umount -l "$work/fuse" 2>/dev/null
	umount -l "$work/over" 2>/dev/null
	umount -l "$work"
	rmdir "$work"
}
trap cleanup EXIT
# Not of a range that a listener watches here: it would take these processes for a session's.
user=4242 session=73001 other=73002
as() { # uid command...
	as_uid=$1
	shift
	setpriv --reuid "$as_uid" --regid "$as_uid" --clear-groups -- "$@"
}
give() { "$access" grant "$@" 2>&1; }
take() { "$access" revoke "$@" 2>&1; }
listing() { # directory: owners, modes and ACLs of all in it
	(cd "$1" && find . -exec getfacl -P -p -n {} + && find . -printf '%p %y %U:%G %m %n %l\n' | sort) 2>&1
}
left() { # entries of sessions, and what is theirs
	getfacl -R -P -p -n "$1" 2>/dev/null | grep -E '^(default:)?(user|group):70[0-9]{3}:'
	find "$1" -uid +69999 -o -gid +69999
}

tree() { # directory
	mkdir -p "$1/sub/deep" "$1/inherits" "$1/shared" "$1/hidden"
	echo text >"$1/text" && echo secret >"$1/secret" && echo tool >"$1/tool" && echo acl >"$1/named"
	echo masked >"$1/masked" && echo read >"$1/read" && echo below >"$1/sub/below" && echo no >"$1/hidden/key"
	mkfifo "$1/fifo" && ln -s /etc/passwd "$1/link" && ln "$1/text" "$1/hard" && : >"$1/$(printf 'a\nb')"
	chmod 600 "$1/secret" && chmod 755 "$1/tool" && chmod 400 "$1/read" && chmod 750 "$1/sub"
	chown -R -h $user:$user "$1"
	echo root >"$1/roots" && chmod 2775 "$1/shared" && chmod 1755 "$1/sub/deep"
	setfacl -m u:4300:rw,m::r "$1/named" && setfacl -m g:4300:rwx,u:4300:- "$1/masked"
	setfacl -d -m u:4300:rwx "$1/inherits"
}

# --- there and back
tree "$work/p"
listing "$work/p" >"$work/before"
changes=$(give "$work/p" $user $session "$work/p/hidden")
is "what may be read is read" "$(as $session cat "$work/p/secret" "$work/p/sub/below" "$work/p/read" | tr '\n' ' ')" 'secret below read '
is "what may be written is written" "$(as $session sh -c "echo x >>'$work/p/tool' && echo x >'$work/p/sub/new' && rm '$work/p/sub/new' && echo yes")" yes
is "but not what even the owner may not" "$(as $session sh -c "echo x >>'$work/p/read'" 2>/dev/null || echo no)" no
is "nor what is another's" "$(as $session sh -c "echo x >>'$work/p/roots'" 2>/dev/null || echo no)" no
is "nor what a mask forbids" "$(as $session sh -c "echo x >>'$work/p/named'" 2>/dev/null || echo no)" no
is "the excluded directory is as it was" "$(getfacl -c -n -p "$work/p/hidden" "$work/p/hidden/key" | grep -c :70)" 0
is "the group sees no more than before" "$(setpriv --reuid 4400 --regid $user --clear-groups cat "$work/p/secret" 2>/dev/null || echo no)" no
is "granting twice changes nothing" "$(give "$work/p" $user $session "$work/p/hidden")" 0
is "the root is marked" "$("$access" marked "$work/p" $session && echo yes)" yes
take "$work/p" $user $session >/dev/null
listing "$work/p" >"$work/after"
is "all is as before" "$(diff "$work/before" "$work/after")" ""
is "and not marked" "$("$access" marked "$work/p" $session || echo no)" no

# --- killed before any change, both ways
wrong=''
for n in $(seq 0 "$changes"); do
	AC_DIE_AFTER=$n give "$work/p" $user $session >/dev/null
	take "$work/p" $user $session >/dev/null || wrong="$wrong grant $n"
	listing "$work/p" | cmp -s - "$work/before" || wrong="$wrong after grant $n"
	give "$work/p" $user $session >/dev/null
	AC_DIE_AFTER=$n take "$work/p" $user $session >/dev/null
	take "$work/p" $user $session >/dev/null || wrong="$wrong revoke $n"
	listing "$work/p" | cmp -s - "$work/before" || wrong="$wrong after revoke $n"
done
is "killed at each of $changes changes: all is as before" "$wrong" ""

give "$work/p" $user $session >/dev/null
mkdir "$work/notes" && touch "$work/notes/access.0"
"$access" abandon "$work/p" $user $session "$work/notes"
is "who takes back dies with the one who waits for it" $? 0
take "$work/p" $user $session >/dev/null

# --- what is made there meanwhile
give "$work/p" $user $session >/dev/null
as $session sh -c "umask 0; cd '$work/p' && echo x >made && echo x >private && chmod 600 private && mkdir -p dir/in && echo x >dir/in/f &&
	mkfifo pipe && ln -s x soft && echo x >tool2 && chmod 755 tool2 && echo x >shared/f && ln made made2 &&
	cp /bin/true planted && setfacl -m u:$other:rwx,u:73500:rwx,g:$session:rwx planted && mkdir closed && chmod 700 closed"
as $session /usr/bin/python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('$work/p/socket')"
is "the user uses it at once" "$(as $user sh -c "cat '$work/p/dir/in/f' && echo y >>'$work/p/dir/in/f' && echo z >'$work/p/dir/in/hers' && echo yes")" "$(printf 'x\nyes')"
is "and the session what she makes" "$(as $session sh -c "cat '$work/p/dir/in/hers' && echo y >>'$work/p/dir/in/hers' && echo yes")" "$(printf 'z\nyes')"
: >/run/agentcell/uids/$other # somebody's, elsewhere
AC_DIE_AFTER=3 take "$work/p" $user $session >/dev/null
take "$work/p" $user $session >/dev/null
rm /run/agentcell/uids/$other
is "no entry and no owner is left" "$(left "$work/p")" ""
is "modes are those that were asked for, less the umask" \
	"$(cd "$work/p" && stat -c '%n %a %U:%G' made private dir dir/in dir/in/f tool2 closed | sed "s/UNKNOWN:UNKNOWN/hers/" | tr '\n' ' ')" \
	'made 644 hers private 600 hers dir 755 hers dir/in 755 hers dir/in/f 644 hers tool2 755 hers closed 700 hers '
is "pipes, sockets and links are hers" "$(stat -c %u "$work/p/pipe" "$work/p/soft" "$work/p/socket" "$work/p/made2" | sort -u)" $user
(cd "$work/p" && rm -r made private dir pipe soft tool2 shared/f made2 planted closed socket && echo tool >tool)
listing "$work/p" >"$work/after"
is "the rest is as before" "$(diff "$work/before" "$work/after")" ""

# --- two sessions; entries of one that is long gone
: >/run/agentcell/uids/$session
: >/run/agentcell/uids/$other
give "$work/p" $user $session >/dev/null
like "a second session is refused" "$(give "$work/p" $user $other)" "another session has access to $work/p"
like "above it, too" "$(give "$work" $user $other; give "$work/p/sub" $user $other)" "another session"
take "$work/p" $user $other >/dev/null
is "and takes nothing from the first" "$(as $session cat "$work/p/secret")" secret
take "$work/p" $user $session >/dev/null
listing "$work/p" >"$work/after"
is "then all is as before" "$(diff "$work/before" "$work/after")" ""
rm /run/agentcell/uids/*
setfacl -m u:73777:rwx,d:u:73778:rwx "$work/p/sub"
like "entries of sessions that are gone do no harm" "$(give "$work/p" $user $session)" '^[0-9]+$'
take "$work/p" $user $session >/dev/null
is "and go with this one's" "$(left "$work/p")" ""
setfacl -b "$work/p/sub"

# --- moved about meanwhile: nothing outside is touched
mkdir -p "$work/m/in/a/b/c" "$work/m/out" "$work/m/in/x/y" && touch "$work/m/in/a/b/c/f" "$work/m/in/x/y/f"
for i in $(seq 200); do mkdir "$work/m/in/a/b/$i" "$work/m/in/x/y/$i"; done
echo outside >"$work/m/out/f"
chown -R $user:$user "$work/m"
as $user sh -c "cd '$work/m' && while [ ! -e stop ]; do mv in/a/b moved 2>/dev/null; mv moved in/x/b 2>/dev/null
	mv in/x/b in/a/b 2>/dev/null; mv in/x/y/7 in/a/7; mv in/a/7 in/x/y/7; done" &
mover=$!
for i in $(seq 20); do
	give "$work/m/in" $user $session >/dev/null
	take "$work/m/in" $user $session >/dev/null
done
as $user touch "$work/m/stop"
wait $mover
is "beside a tree that is moved about nothing is touched" "$(left "$work/m/out"; getfacl -c -p -n "$work/m" "$work/m/out" | grep -c :70)" 0
is "and once it is at rest it is cleaned" "$(take "$work/m/in" $user $session >/dev/null; left "$work/m")" ""
mkdir "$work/m/in/mnt" && mount -t tmpfs tmpfs "$work/m/in/mnt" && touch "$work/m/in/mnt/f" && chown $user "$work/m/in/mnt/f"
ln -s "$work/m/out" "$work/m/in/way" && ln -s "$work/m/out/f" "$work/m/in/wayf"
give "$work/m/in" $user $session >/dev/null
is "a mount below is another place, and links lead nowhere" "$(getfacl -c -p -n "$work/m/in/mnt/f" "$work/m/out" "$work/m/out/f" | grep -c :70)" 0
take "$work/m/in" $user $session >/dev/null

if [ -e /dev/fuse ] && command -v bindfs >/dev/null; then
	mkdir "$work/closed" "$work/shut" && chown nobody "$work/closed" "$work/shut"
	setpriv --reuid nobody --regid nogroup --clear-groups bindfs --no-allow-other "$work/closed" "$work/shut" ||
		bail "bindfs does not start"
	is "root may not even look at it" "$(stat "$work/shut" >/dev/null 2>&1 || echo no)" no
	mkdir "$work/m/in/shut" && mount --move "$work/shut" "$work/m/in/shut" || bail "cannot move a mount"
	like "a FUSE that refuses root is another place, too" "$(give "$work/m/in" $user $session)" '^[0-9]+$'
	like "in both directions" "$(take "$work/m/in" $user $session)" '^[0-9]+$'
	umount -l "$work/m/in/shut"
else
	skip "a FUSE that refuses root is another place, too" "needs /dev/fuse and bindfs"
fi

# --- deeper than any path, wider than any patience
mkdir "$work/deep" && chown $user:$user "$work/deep"
as $user /usr/bin/python3 -c "
import os
os.chdir('$work/deep')
for i in range(3000):
    os.mkdir('d' * 100)
    os.chdir('d' * 100)
open('bottom', 'w').close()"
count() { # of what is marked, at the bottom, too
	/usr/bin/python3 - "$work/deep" $session <<-'END'
		import os, struct, sys
		os.chdir(sys.argv[1])
		marked = 0
		while True:
		    try:
		        acl = os.getxattr('.', 'system.posix_acl_access')
		        marked += struct.pack('<I', int(sys.argv[2])) in acl
		    except OSError:
		        pass
		    names = os.listdir('.')
		    if names != ['d' * 100]:
		        break
		    os.chdir(names[0])
		print(marked, *names)
	END
}
give "$work/deep" $user $session >/dev/null
is "3000 directories in each other" "$(count)" '3001 bottom'
take "$work/deep" $user $session >/dev/null
is "and taken back" "$(count)" '0 bottom'

wide=$work/wide
mkdir "$wide" && (cd "$wide" && for i in $(seq 40); do
	mkdir -p "$i-$(printf '%0100d' 0)/in" "one/$i-$(printf '%0100d' 0)/in/below" && touch "$i"
done)
find "$wide" -mindepth 1 -printf '%i\n' | sort >"$work/all"
for room in 0 1000 4000 1000000; do
	"$access" walk "$wide" $room | sort -u | cmp -s - "$work/all" || echo "room for $room"
done >"$work/missed"
is "with room for few names, or none, all is visited" "$(cat "$work/missed")" ""
is "and once where there is enough" "$("$access" walk "$wide" 1000000 | wc -l)" "$(wc -l <"$work/all")"

# --- overlayfs: what lies below is copied up, and keeps what it is
mkdir "$work/lower" "$work/upper" "$work/workdir" "$work/over"
tree "$work/lower/p"
mount -t overlay overlay -o "lowerdir=$work/lower,upperdir=$work/upper,workdir=$work/workdir" "$work/over" || bail "no overlayfs"
listing_over() { # a copy-up parts the names of a file, and the number of a directory's is overlayfs's own
	listing "$work/over/p" | sed -E '/hard|text/d; s/^(.* d .*) [0-9]+ $/\1/'
}
listing_over >"$work/before"
give "$work/over/p" $user $session >/dev/null
is "on overlayfs the session is let in" "$(as $session cat "$work/over/p/secret")" secret
take "$work/over/p" $user $session >/dev/null
listing_over >"$work/after"
is "and all is as before" "$(diff "$work/before" "$work/after")" ""

# --- file systems that show ACLs and do not heed them, or have none
if [ -e /dev/fuse ] && command -v bindfs >/dev/null; then
	mkdir "$work/fuse" "$work/behind" && echo text >"$work/behind/text" && chown -R $user:$user "$work/behind"
	listing "$work/behind" >"$work/before"
	bindfs -o allow_other "$work/behind" "$work/fuse" || bail "bindfs does not start"
	is "FUSE takes ACLs" "$(setfacl -m u:$other:r "$work/fuse/text" && getfacl -c -p -n "$work/fuse/text" | grep -c :$other: ; setfacl -b "$work/fuse/text")" 1
	like "but does not heed them" "$(give "$work/fuse" $user $session)" "does not heed its ACLs"
	listing "$work/behind" >"$work/after"
	is "and nothing is left there" "$(diff "$work/before" "$work/after")" ""
else
	skip "FUSE takes ACLs and does not heed them" "needs /dev/fuse and bindfs"
fi
mkdir "$work/none" && mount -t ramfs ramfs "$work/none" && chown $user "$work/none"
like "ramfs has none" "$(give "$work/none" $user $session)" "neither idmapped mounts nor ACLs"
mkdir "$work/theirs" && chmod 755 "$work/theirs"
like "of a directory that is another's nothing can be given" "$(give "$work/theirs" $user $session)" "belongs to uid 0"
mkdir "$work/narrow" && chown $user "$work/narrow" && setfacl -m u:4300:rx,m::rx "$work/narrow"
listing "$work/narrow" >"$work/before"
like "where a mask is in the way this is said" "$(give "$work/narrow" $user $session)" "mask of its ACL"
listing "$work/narrow" >"$work/after"
is "and nothing is left of it" "$(diff "$work/before" "$work/after")" ""
finish
