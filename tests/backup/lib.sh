# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034
# What the backup tests share.  Source it first.  They need root (to be two users) and a directory on
# a disk; they touch nothing outside $work.
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
B=${B:-$top/build}
. "$here/../lib/tap.sh"
if [ "$(id -u)" != 0 ]; then
	skip "${0##*/}" 'needs root'
	finish
fi
# As the issue asks for where CI=true; a quick look elsewhere.
if [ "${CI-}" = true ]; then
	: "${FILES:=100000}" "${POINTS:=200}" "${ROUNDS:=40}"
else
	: "${FILES:=5000}" "${POINTS:=40}" "${ROUNDS:=12}"
fi
export POINTS ROUNDS
uid=47111 gid=47111 # nobody has them
base=$(mktemp -d "${BACKUP_TEST_DIR:-/var/tmp}/agentcell-backup.XXXXXX")
chmod 711 "$base"
work=$base/work store=$base/backups/user serial=0
mkdir "$base/backups" "$work"
chmod 755 "$base/backups"
chown $uid:$gid "$work"
# The tree may lie where the user cannot reach it (a clone in /root): what she runs is a copy.  A script
# that runs itself again still knows where from.
: "${BACKUP_BUILT:=$B}"
export BACKUP_BUILT
mkdir "$base/build" "$base/tools"
cp -r "$BACKUP_BUILT/bin" "$BACKUP_BUILT/backup" "$base/build/" && cp "$here"/*.py "$base/tools/" || exit 1
B=$base/build here=$base/tools
cleanup() {
	[ ! -d "$base/mnt" ] || umount "$base/mnt" 2>/dev/null
	rm -rf "$base"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

as_user() {
	setpriv --reuid $uid --regid $gid --clear-groups -- "$@"
}

next_id() { # -> $id
	serial=$((serial + 1))
	id=$(printf '20261130T%06dZ-%012x' $serial $serial)
}

make() { # path... : backup $id
	"$B/backup/driver" make "$store" "$id" $uid $gid "$@"
}

finish_backup() { # id cause keep_clean keep_escape max_bytes
	"$B/backup/driver" finish "$store" "$1" $uid $gid "$2" "$3" "$4" "$5"
}

cell() { # agentcell's subcommand, as the user
	command=$1
	shift
	as_user "$B/bin/agentcell" "$command" --store "$store" "$@"
}

tree() {
	/usr/bin/python3 "$here/tree.py" "$@"
}

reader() {
	/usr/bin/python3 "$here/reader.py" "$store" "$1"
}
