#!/bin/sh
# SPDX-License-Identifier: ISC
# What may go wrong around a backup, one thing after the other: each is named, and none leaves a backup
# that is not one.
. "$(dirname "$0")/lib.sh"
[ -n "${IN_PRIVATE:-}" ] || {
	rm -rf "$base"
	IN_PRIVATE=1 unshare -m --propagation private -- "$0"
	exit
}
project=$work/project
as_user mkdir "$project"
as_user sh -c "cd '$project' && for i in 1 2 3; do echo \$i >f\$i; done"

visible() { [ -e "$store/$id.manifest" ]; }
fails_with() { # text command...
	text=$1
	shift
	if "$@" >"$base/said" 2>&1; then
		echo "unexpected success"
		return 1
	fi
	grep -q -- "$text" "$base/said" || {
		cat "$base/said"
		return 1
	}
	! visible
}

next_id
check 'in peace' make "$project"
finish_backup "$id" 1 99 0 0
equal 'the store is the user'"'"'s alone' "$(stat -c '%u %g %a' "$store")" "$uid $gid 700"
equal 'and so is all in it' "$(find "$store" -mindepth 1 \( ! -uid $uid -o -perm /077 \))" ''

# --- Cannot be read.
echo secret >"$project/roots" && chmod 600 "$project/roots"
next_id
check 'a file that the user cannot read is named' fails_with 'cannot be read.*roots' make "$project"
next_id
check 'or allowed' make -u "$project"
finish_backup "$id" 1 99 0 0
refute 'and not leaked' grep -qa secret "$store"/*.pack
rm "$project/roots"
mkdir "$project/roots" "$project/roots/inner" && echo secret >"$project/roots/inner/file" && chmod 744 "$project/roots"
next_id
check 'a directory that may be listed and not searched' make -u "$project"
finish_backup "$id" 1 99 0 0
rm -r "$project/roots"
as_user mkdir "$project/mounted" && as_user sh -c "echo beneath >'$project/mounted/beneath'"
mount -t tmpfs tmpfs "$project/mounted" && echo elsewhere >"$project/mounted/elsewhere"
names() { reader "$id" | cut -d' ' -f1 | /usr/bin/python3 -c 'import sys; print(*(bytes.fromhex(l).decode().rsplit("/", 1)[1] for l in sys.stdin))'; }
next_id
check 'a project with something mounted in it' make "$project"
equal 'what the session will see is in the backup' "$(names)" 'project f1 f2 f3 mounted beneath'
finish_backup "$id" 1 99 0 0
check 'restore leaves what is mounted alone' cell restore "$id"
equal 'it is there' "$(cat "$project/mounted/elsewhere")" elsewhere
umount "$project/mounted"
as_user rm "$project/mounted/beneath"
check 'and brings back what lay beneath' cell restore "$id"
equal 'it is back' "$(cat "$project/mounted/beneath")" beneath
as_user rm -r "$project/mounted"
as_user mkdir -p "$project/shut/inner" && mount -t tmpfs tmpfs "$project/shut/inner" && chmod 0 "$project/shut"
check 'a mount in a directory that denies its owner does not stop a look' \
	"$B/backup/driver" look "$store" "$id" $uid $gid
umount "$project/shut/inner" && chmod 755 "$project/shut" && rm -r "$project/shut"
next_id
check 'a path that is not there is named' fails_with "$project/nothing" make "$project/nothing"
as_user ln -s "$project" "$work/link"
next_id
check 'a symlink is no path' fails_with "$work/link" make "$work/link"

# --- Changes under its hands.
as_user sh -c "head -c 8000000 /dev/urandom >'$project/busy'"
make_while_it_changes() {
	LD_PRELOAD="$B/backup/fault.so" FAULT_CHANGE="$project/busy" "$B/backup/driver" make "$store" "$id" "$uid" "$gid" "$@"
}
next_id
check 'a file that changes each time it is read is torn' fails_with 'changed each time.*busy' make_while_it_changes "$project"
next_id
check 'or allowed' make_while_it_changes -t "$project"
finish_backup "$id" 1 99 0 0
next_id
check 'and read again by the next one' make "$project"
equal 'which has it right' "$(reader "$id" | sed -n 's/.* 8000000 \([0-9a-f]*\) .*/\1/p')" \
	"$(sha256sum "$project/busy" | cut -d' ' -f1)"
finish_backup "$id" 1 99 0 0
as_user rm "$project/busy"

# --- Edited with the size and the times kept: found by its ctime.
as_user sh -c "cd '$project' && touch -d '2020-01-01' f1"
next_id && make "$project" >/dev/null && finish_backup "$id" 1 99 0 0
as_user sh -c "cd '$project' && touch -r f1 ../times && printf X | dd of=f1 conv=notrunc status=none && touch -r ../times f1"
check 'same size, same mtime: diff sees it' sh -c "[ \"\$('$B/backup/driver' 2>/dev/null; setpriv --reuid $uid --regid $gid --clear-groups '$B/bin/agentcell' diff --store '$store' $id | grep -c 'f1  (content')\" = 1 ]"
check 'restore puts it back' cell restore "$id"
equal 'really' "$(cat "$project/f1")" 1

# --- A store through a mapping that was dirty already moves no ctime; the window catches it.
setpriv --reuid $uid --regid $gid --clear-groups /usr/bin/python3 "$here/mapped.py" "$project/mapped" "$base/go" >"$base/mapper" &
mapper=$!
while [ ! -e "$project/mapped.ready" ] && kill -0 $mapper 2>/dev/null; do sleep 0.05; done
next_id && make "$project" >/dev/null && finish_backup "$id" 1 99 0 0
touch "$base/go"
wait $mapper
next_id && make "$project" >/dev/null && finish_backup "$id" 1 99 0 0
equal 'the store through the mapping left no sign' "$(cat "$base/mapper")" 'ctime did not move'
equal 'and is found' "$(reader "$id" | grep -c "$(sha256sum "$project/mapped" | cut -d' ' -f1)")" 1

# --- Limits of the user: lifted, or named.
next_id
as_user sh -c "head -c 3000000 /dev/urandom >'$project/new'"
check 'a tiny limit of file size does not matter to root' sh -c "ulimit -S -f 8; exec '$B/backup/driver' make '$store' $id $uid $gid '$project'"
finish_backup "$id" 1 99 0 0

# --- A full disk, for real.
mkdir "$base/mnt"
mount -t tmpfs -o size=2m,mode=755 tmpfs "$base/mnt"
small=$base/mnt/user
for size in 1 2 3; do
	as_user sh -c "head -c ${size}000000 /dev/urandom >'$project/full$size'"
	next_id
	"$B/backup/driver" make "$small" "$id" $uid $gid "$project" >"$base/said" 2>&1 &&
		[ ! -e "$small/$id.manifest" ] && echo impossible
done
check 'a full disk is named' grep -q 'No space left' "$base/said"
equal 'nothing is left of it' "$(find "$small" -name 'tmp-*' -o -name '*.pack' -o -name "$id*")" ''
as_user rm "$project"/full* "$project/new"
next_id
check 'and the next one works' "$B/backup/driver" make "$small" "$id" $uid $gid "$project"
umount "$base/mnt"

# --- A store that is not what it should be: root looks at nothing in it, and trusts no name.
mkdir "$base/evil" && chmod 755 "$base/evil"
mkdir "$base/evil/target" && chown $uid:$gid "$base/evil/target"
ln -s "$base/evil/target" "$base/evil/user"
refute 'a symlink in its place' "$B/backup/driver" make "$base/evil/user" "$id" $uid $gid "$project"
rm "$base/evil/user" && mkdir "$base/evil/user" && chown 47112 "$base/evil/user"
refute 'one of another user' "$B/backup/driver" make "$base/evil/user" "$id" $uid $gid "$project"
chown $uid "$base/evil/user" && chmod 755 "$base/evil/user"
refute 'one that others can read' "$B/backup/driver" make "$base/evil/user" "$id" $uid $gid "$project"
chmod 777 "$base/evil" && rm -rf "$base/evil/user"
refute 'one in a directory that others can write' "$B/backup/driver" make "$base/evil/user" "$id" $uid $gid "$project"
for name in lock x.manifest x.pack; do
	as_user ln -sf "$base/evil/target/made-by-$name" "$store/$name"
done
next_id
refute 'a lock that is a symlink' make "$project"
as_user rm "$store/lock"
next_id
check 'other symlinks in it do not matter' make "$project"
finish_backup "$id" 1 99 0 0
equal 'and nothing was written through them' "$(ls "$base/evil/target")" ''
as_user rm -f "$store/x.manifest" "$store/x.pack"

# --- Two at once, and one that is pruned meanwhile.
next_id && one=$id && next_id && two=$id
"$B/backup/driver" make "$store" "$one" $uid $gid "$project" >/dev/null 2>&1 &
first=$!
"$B/backup/driver" make "$store" "$two" $uid $gid "$project" >/dev/null 2>&1 &
second=$!
wait $first
status=$?
wait $second
equal 'two backups at once' "$status $?" '0 0'
check 'and verify' cell backups --verify all
check 'the user is told what lives' sh -c "! setpriv --reuid $uid --regid $gid --clear-groups '$B/bin/agentcell' restore --store '$store' $one 2>&1 | grep -q restored"
check 'force' cell restore --force "$one"
finish_backup "$one" 1 99 0 0
finish_backup "$two" 1 99 0 0
check 'json lists sizes' sh -c "setpriv --reuid $uid --regid $gid --clear-groups '$B/bin/agentcell' backups --json --store '$store' |
	/usr/bin/python3 -c 'import json, sys; b = json.load(sys.stdin); assert len(b) > 5 and all(x[\"own_bytes\"] > 0 for x in b)'"

# --- "Restored" means on disk.
as_user ln -s f1 "$project/link"
next_id && make "$project" >/dev/null && finish_backup "$id" 1 99 0 0
one=$id
sync_fails() { # the fault, what is told, what is spoiled: a shell command in the project
	as_user sh -c "cd '$project' && $3"
	as_user env LD_PRELOAD="$B/backup/fault.so" "$1" "$B/bin/agentcell" restore --store "$store" "$one" \
		>"$base/out" 2>&1
	equal "a restore that the disk does not take fails: ${1%%=*}, $3" $? 1
	check 'and says so' grep -q "$2 may not be on disk: Input/output error" "$base/out"
}
sync_fails "FAULT_FSYNC=$project/f1" 'a file' 'echo spoiled >f1'
sync_fails "FAULT_FSYNC=$project" 'a directory' 'echo spoiled >f1'
sync_fails "FAULT_FSYNC=$project/f1" 'a file' 'chmod 0600 f1'
sync_fails "FAULT_FSYNC=$project" 'a directory' 'echo added >not-there-before'
sync_fails FAULT_SYNCFS=1 "$project" 'rm link'
as_user sh -c "cd '$project' && for i in \$(seq 200); do mkdir -p many/\$i && echo \$i >many/\$i/file; done"
next_id && make "$project" >/dev/null && finish_backup "$id" 1 99 0 0
as_user sh -c "for file in '$project'/many/*/file; do echo spoiled >\$file; done"
check 'with few descriptors' sh -c "ulimit -n 64; exec setpriv --reuid $uid --regid $gid --clear-groups '$B/bin/agentcell' restore --store '$store' $id"
equal 'all 200 files in 200 directories are back' "$(cat "$project"/many/*/file | sort -n | tr '\n' ' ')" "$(seq 200 | tr '\n' ' ')"
as_user rm -r "$project/many"
# A few files do not wait for the whole file system.
as_user sh -c "echo spoiled >'$project/f1'"
check 'one file is no matter of the file system' as_user env LD_PRELOAD="$B/backup/fault.so" FAULT_SYNCFS=1 \
	"$B/bin/agentcell" restore --store "$store" "$one"
as_user sh -c "echo spoiled >'$project/f1'"
check 'one that it takes' sh -c "setpriv --reuid $uid --regid $gid --clear-groups '$B/bin/agentcell' restore --json \
	--store '$store' $one | /usr/bin/python3 -c 'import json, sys; assert json.load(sys.stdin)[\"synced\"]'"

# --- Single files and directories.
as_user sh -c "cd '$project' && mkdir -p d/e && echo 1 >d/e/x && echo 2 >d/y"
next_id && make "$project" >/dev/null && finish_backup "$id" 1 99 0 0
as_user sh -c "cd '$project' && rm -r d && echo changed >f2 && echo changed >f3 && echo >added"
check 'one file' cell restore "$id" "$project/f2"
equal 'it is back' "$(cat "$project/f2")" 2
equal 'the others are as they were' "$(cat "$project/f3")" changed
check 'one file in a directory that is gone' cell restore "$id" "$project/d/e/x"
equal 'it is back' "$(cat "$project/d/e/x")" 1
refute 'the others are not' test -e "$project/d/y"
check 'something that was added goes' cell restore "$id" "$project/added"
refute 'it is gone' test -e "$project/added"
left=$project/.agentcell-restore-0123456789abcdef
as_user sh -c "mkdir -p '$left/a/b' '${left}0/a' && echo 3 >'$left/a/b/c' && chmod 500 '$left/a/b'"
check 'one file, after a restore that was killed' cell restore "$id" "$project/f3"
refute 'the directory that it was building goes' test -e "$left"
check 'one whose name only looks like that stays' test -d "${left}0/a"
as_user rm -r "${left}0"
as_user sh -c "echo changed >'$project/f3'"
refute 'a name that nobody knows is refused' cell restore "$id" "$project/nothing"
check 'diff of one path' sh -c "[ \"\$(setpriv --reuid $uid --regid $gid --clear-groups '$B/bin/agentcell' diff --store '$store' $id '$project/d' | wc -l)\" = 1 ]"
check 'a patch' sh -c "setpriv --reuid $uid --regid $gid --clear-groups '$B/bin/agentcell' diff --patch --store '$store' $id '$project/f3' | grep -qx -- '-3'"
finish
