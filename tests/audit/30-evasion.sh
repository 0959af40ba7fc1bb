#!/bin/sh
# SPDX-License-Identifier: ISC
# The evasion table: a secret behind bait, reached for in every way; each one is impossible (nothing is
# read) and judged right (escape), or harmless (and then the session goes on).
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

key=/home/dev/.ssh/id_ed25519
listener_start
cp "$attack" /home/dev/project/attack

# The control: outside a session root can do all of this.
equal 'outside, the secret can be read' "$(cat $key)" secret

escapes() { # word path [option...]
	word=$1 path=$2
	shift 2
	run "$@" -- ./attack "$word" "$path"
	equal "$word is an escape" "$status" "$escape"
	refute "$word does not live on" sh -c "printf '%s' \"\$1\" | grep -qx alive" - "$said"
	refute "$word gets nothing" sh -c "printf '%s' \"\$1\" | grep -q 'secret\$'" - "$said"
}

survives() { # word path [option...]
	word=$1 path=$2
	shift 2
	run "$@" -- ./attack "$word" "$path"
	equal "$word is none" "$status" "$clean"
}

# By Landlock (the canonical path) and, without it, by file modes alone (the typed name).
for option in '' -L; do
	for word in plain create link link-create create-at link-directory chain dots slashes directory-fd reopen \
		cwd-link root-link openat2 long odd; do
		# shellcheck disable=SC2086
		escapes $word $key $option
	done
	# shellcheck disable=SC2086
	escapes list /home/dev/.ssh $option
	# shellcheck disable=SC2086
	escapes deep $key $option
done

for word in hard-link move remove shorten execute execute-at link-make link-owner link-attribute \
	link-shorten link-mode link-execute link-hard link-in move-in move-at; do
	escapes $word $key
done
escapes move-over $key

escapes execute /usr/bin/sudo
escapes execute-at /usr/bin/mount
escapes namespaces /
escapes mount /tmp
escapes trace /
escapes root /
escapes packet /
escapes vsock /
escapes docker /
escapes handle $key
escapes storm $key

survives own-uid /
survives memory-program /
survives plain /home/dev/project/text
survives plain /usr/lib/os-release
survives list /
survives link /home/dev/project/text
survives create /home/dev/project/new

# A symlink that nobody has looked at since its file system was mounted: to create through it makes other
# records than to do so through one that the kernel has in its cache.
mkdir cold /home/cold /home/cold/lower /home/cold/work
mkdir -m 0777 /home/cold/upper && chmod 0777 /home/cold/upper
make_cold() { # target
	umount cold 2>/dev/null
	ln -sfn "$1" /home/cold/upper/link
	mount -t overlay overlay cold \
		-o lowerdir=/home/cold/lower,upperdir=/home/cold/upper,workdir=/home/cold/work
}
for option in '' -L; do
	make_cold $key
	# shellcheck disable=SC2086
	escapes create cold/link $option
done
make_cold ../text
survives create cold/link
umount cold

# Interfaces that this kernel may not have at all.
for word in b32 x32; do
	run -- ./attack $word /
	case $said in
	*Function\ not*) tap_pass "$word: the kernel does not have it" ;;
	x32\ *) skip "$word" 'kernel: no rule can name its calls; the launcher'"'"'s filter refuses them' ;;
	*) equal "$word is an escape" "$status" "$escape" ;;
	esac
done
run -- ./attack ring /
case $said in
*ring\ -1*) equal 'a refused io_uring is none' "$status" "$clean" ;;
*) equal 'io_uring is an escape' "$status" "$escape" ;;
esac

check 'nothing is left' nothing_left
listener_stop
finish
