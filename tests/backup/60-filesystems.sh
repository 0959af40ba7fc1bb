#!/bin/sh
# SPDX-License-Identifier: ISC
# The torture tree on loop images of the file systems that a project may lie on.
[ -n "${IN_PRIVATE:-}" ] || IN_PRIVATE=1 exec unshare -m --propagation private -- "$0"
. "$(dirname "$0")/lib.sh"

round_trip() { # type
	mkdir "$base/mnt" && truncate -s 900M "$base/image" && "mkfs.$1" -q "$base/image" >/dev/null 2>&1 &&
		mount -o loop "$base/image" "$base/mnt" 2>/dev/null || {
		skip "$1" "needs mkfs.$1 and loop devices"
		rm -rf "${base:?}/image" "${base:?}/mnt"
		return
	}
	work=$base/mnt/work store=$base/mnt/backups/user
	mkdir "$work" && chown $uid:$gid "$work"
	as_user /usr/bin/python3 "$here/torture.py" "$work/p" 2000 100
	tree "$work/p" >"$base/before"
	next_id
	check "$1: a backup" make "$work/p"
	reader "$id" >"$base/read"
	check "$1: read by another program" diff "$base/before" "$base/read"
	next_id
	equal "$1: the next one stores nothing" "$(make "$work/p" | sed 's/.*new \([0-9]*\).*/\1/')" 0
	as_user /usr/bin/python3 "$here/damage.py" "$work/p" 80
	check "$1: restore" cell restore --force "$id"
	tree "$work/p" >"$base/after"
	check "$1: is complete" diff "$base/before" "$base/after"
	umount "$base/mnt"
	rm -rf "${base:?}/image" "${base:?}/mnt"
}

for type in ext4 xfs btrfs; do round_trip $type; done
finish
