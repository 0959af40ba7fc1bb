#!/bin/sh
# SPDX-License-Identifier: ISC
# Backups against what people use: medians of interleaved runs, in seconds.
#
#   first    the first backup of a tree: agentcell (synced to disk), tar|zstd -1 -T0 and cp -a (not synced),
#            restic, borg, rsync
#   second   the next one after 20 files changed: agentcell (synced), restic, borg, rsync --link-dest, and the
#            bound: a bare stat walk with two threads
#   in place restore of those 20 files; whole: of everything into nothing, against cp -a
#
# ROUNDS (3) of each; the slow ones run once when SLOW=1 (default), SLOW=0 leaves them out.  FILES="60000 500".
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
B=${AGENTCELL_BUILD:-$here/../../build}
[ "$(id -u)" = 0 ] || {
	echo "backup: needs root"
	exit 0
}
rounds=${ROUNDS:-3} slow=${SLOW:-1} uid=47111
work=$(mktemp -d "${BACKUP_TEST_DIR:-/var/tmp}/agentcell-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
chmod 711 "$work"
export RESTIC_PASSWORD=x BORG_UNENCRYPTED_REPO_ACCESS_IS_OK=yes BORG_BASE_DIR="$work/borg-home"

as_user() { setpriv --reuid $uid --regid $uid --clear-groups -- "$@"; }

now() { date +%s%N; }

# timed NAME COMMAND...: appends seconds to $work/t.NAME
timed() {
	name=$1
	shift
	started=$(now)
	"$@" >"$work/said" 2>&1 || {
		echo "# $name failed: $(tail -1 "$work/said")" >&2
		return 1
	}
	echo "$(($(now) - started))" | awk '{ printf "%.4f\n", $1 / 1e9 }' >>"$work/t.$name"
}

median() {
	[ -s "$work/t.$1" ] || {
		echo -
		return
	}
	sort -n "$work/t.$1" | awk '{ v[NR] = $1 } END { printf "%.3f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

ratio() { # a b
	echo "$(median "$1") $(median "$2")" | awk '$1 != "-" && $2 != "-" && $2 > 0 { printf "%.2f", $1 / $2; exit } { printf "-" }'
}

without() { # a b c: (a - b) / c
	echo "$(median "$1") $(median "$2") $(median "$3")" | awk '$3 > 0 { printf "%.2f", ($1 - $2) / $3; exit } { printf "-" }'
}

serial=0
backup() {
	serial=$((serial + 1))
	id=$(printf '%s-%012x' "$(date -u +%Y%m%dT%H%M%SZ)" $serial)
	timed "$1" "$B/backup/driver" make "$work/store/user" "$id" $uid $uid "$work/tree"
}

# Real files of this machine, as many as asked for.
make_tree() {
	mkdir -p "$work/tree"
	find /usr/share /usr/include /usr/lib -xdev -type f -size -200k 2>/dev/null | head -n "$1" |
		tar -cf - -T - 2>/dev/null | tar -xf - -C "$work/tree"
	chown -R $uid:$uid "$work/tree"
}

change_20() {
	find "$work/tree" -type f | awk -v n="$1" 'NR % int(n / 20) == 1' | head -20 | while read -r file; do
		echo changed >>"$file"
	done
}

first_round() {
	rm -rf "$work/store" && mkdir "$work/store"
	backup first
	rm -f "$work/t.zst"
	timed tar sh -c "tar -C '$work' -cf - tree | zstd -q -1 -T0 -o '$work/t.zst'"
	timed walk "$B/backup/statwalk" "$work/tree"
}

first_slow() {
	restic init -q --repo "$work/restic" && timed restic restic backup -q --repo "$work/restic" "$work/tree"
	borg init -e none "$work/borg" && timed borg borg create -C zstd,1 "$work/borg::1" "$work/tree"
	timed rsync rsync -a "$work/tree/" "$work/rsync.1/"
}

second_round() {
	change_20 "$1"
	backup second
	timed walk2 "$B/backup/statwalk" "$work/tree"
}

second_slow() {
	timed restic2 restic backup -q --repo "$work/restic" "$work/tree"
	timed borg2 borg create -C zstd,1 "$work/borg::2" "$work/tree"
	timed rsync2 rsync -a --link-dest="$work/rsync.1" "$work/tree/" "$work/rsync.2/"
}

restore() {
	timed "$1" setpriv --reuid $uid --regid $uid --clear-groups -- "$B/bin/agentcell" restore --force \
		--store "$work/store/user" "$id"
}

# Nothing is removed between the runs: ext4 makes files five times slower just after many were removed (for
# five minutes).  None pays for the write-back of what was made before it.
restore_round() {
	backup ignored
	change_20 "$1"
	sync
	restore in_place
	mv "$work/tree" "$work/away"
	sync
	timed copy cp -a "$work/away" "$work/tree"
	mv "$work/tree" "$work/old.$serial.copy"
	mkdir "$work/tree" && chown $uid:$uid "$work/tree"
	sync
	restore whole
	mv "$work/tree" "$work/old.$serial.whole"
	mv "$work/away" "$work/tree"
}

show() {
	printf '%-34s %8s   %s\n' "$1" "$(median "$2")" "$3"
}

table() {
	show 'first: agentcell' first "$(ratio first tar) of tar|zstd (goal 0.65), store $store_mb MB"
	show 'first: tar | zstd -1 -T0' tar "$(du -m "$work/t.zst" | cut -f1) MB"
	if [ "$slow" = 1 ]; then
		show 'first: restic' restic "$restic_mb MB"
		show 'first: borg zstd,1' borg "$borg_mb MB"
		show 'first: rsync -a' rsync "$rsync_mb MB"
	fi
	show 'second: agentcell' second "$(ratio second walk2) of the stat walk (goal 1.8)"
	show 'second: stat walk, 2 threads' walk2 ''
	if [ "$slow" = 1 ]; then
		show 'second: restic' restic2 ''
		show 'second: borg zstd,1' borg2 ''
		show 'second: rsync --link-dest' rsync2 ''
	fi
	show 'restore in place: agentcell' in_place "$(ratio in_place walk2) stat walks, the backup before it included;"
	printf '%-34s %8s   %s\n' '' '' "without it $(without in_place second walk2) (goal: 1 and the changed files)"
	show 'restore of all: agentcell' whole "$(ratio whole copy) of cp -a (goal 0.5)"
	show 'copy of all: cp -a' copy ''
}

bench() {
	rm -rf "${work:?}"/*
	make_tree "$1"
	printf '\n%s files, %s MB, load %s\n' "$(find "$work/tree" -type f | wc -l)" \
		"$(du -sm --apparent-size "$work/tree" | cut -f1)" "$(cut -d' ' -f1 /proc/loadavg)"
	for _ in $(seq "$rounds"); do first_round; done
	store_mb=$(du -sm --apparent-size "$work/store" | cut -f1)
	if [ "$slow" = 1 ]; then
		first_slow
		restic_mb=$(du -sm --apparent-size "$work/restic" | cut -f1)
		borg_mb=$(du -sm --apparent-size "$work/borg" | cut -f1)
		rsync_mb=$(du -sm --apparent-size "$work/rsync.1" | cut -f1)
	fi
	# Files that changed within a minute before a backup are read again by the next one.
	sleep 61
	backup ignored
	[ "$slow" != 1 ] || second_slow
	for _ in $(seq $((rounds * 2))); do second_round "$1"; done
	for _ in $(seq "$rounds"); do restore_round "$1"; done
	table
}

for files in ${FILES:-60000 500}; do bench "$files"; done
