#!/bin/sh
# SPDX-License-Identifier: ISC
# A tree with everything in it, backed up, damaged in every way, and restored; compared by tree.py,
# which uses system calls alone, and read by reader.py, which knows the format from its man page.
. "$(dirname "$0")/lib.sh"
project=$work/project
as_user /usr/bin/python3 "$here/torture.py" "$project" "$FILES" || exit 1
tree "$project" >"$base/before"

next_id
first=$id
check 'a backup of the torture tree is made' make "$project"
check 'another program reads the same from it' sh -c "
	/usr/bin/python3 '$here/reader.py' '$store' '$first' >'$base/read' && diff '$base/before' '$base/read'"
check 'making it changed nothing' sh -c "
	/usr/bin/python3 '$here/tree.py' '$project' | diff '$base/before' -"
check 'it verifies' cell backups --verify "$first"
equal 'diff finds nothing' "$(cell diff "$first")" ''
next_id
second=$id
equal 'the second backup stores nothing new' "$(make "$project" | sed 's/.*new \([0-9]*\).*/\1/')" 0
check 'another program reads it too' sh -c "
	/usr/bin/python3 '$here/reader.py' '$store' '$second' >'$base/read' && diff '$base/before' '$base/read'"
check 'its session ends' finish_backup "$second" 1 9 0 0

refute 'restore refuses while the session lives' cell restore "$first"
check 'its session ends' finish_backup "$first" 6 9 0 0

as_user /usr/bin/python3 "$here/damage.py" "$project" || exit 1
tree "$project" >"$base/damaged"
refute 'the damage is real' cmp -s "$base/before" "$base/damaged"
cell diff "$first" >"$base/differences"
check 'diff tells of it' test "$(wc -l <"$base/differences")" -gt 100
cell restore --dry-run "$first" >"$base/dry"
check 'a dry run tells the same' diff "$base/differences" "$base/dry"
check 'and changes nothing' sh -c "/usr/bin/python3 '$here/tree.py' '$project' | diff '$base/damaged' -"

check 'restore' cell restore "$first"
tree "$project" >"$base/after"
check 'puts everything back' diff "$base/before" "$base/after"
equal 'diff finds nothing' "$(cell diff "$first")" ''
undo=$(cell backups --json | /usr/bin/python3 -c 'import json,sys; print(next(b["backup_id"] for b in json.load(sys.stdin) if b["end"] == "kept"))')
check 'the way back' cell restore "$undo"
tree "$project" >"$base/undone"
check 'leads back' diff "$base/damaged" "$base/undone"
check 'and forth' cell restore "$first"

# All of it gone.
mv "$project" "$work/away" && as_user mkdir -m 755 "$project"
check 'restore into nothing' cell restore "$first"
tree "$project" >"$base/after"
check 'is complete' diff "$base/before" "$base/after"
rmdir "$project" 2>/dev/null || mv "$project" "$work/away2"
check 'restore of a project that is gone' cell restore "$first"
tree "$project" >"$base/after"
check 'is complete' diff "$base/before" "$base/after"
finish
