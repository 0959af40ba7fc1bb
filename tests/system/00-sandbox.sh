#!/bin/sh
# SPDX-License-Identifier: ISC
# The sandbox of the other tests: is it private, does setuid sudo work in it, does it end clean?
. "$(dirname "$0")/../lib/sandbox.sh"

check 'a user can be made' sandbox_user dev secret
equal 'her home is closed' "$(stat -c '%a %U' /home/dev)" '700 dev'
equal 'nobody else lives in /home' "$(ls /home)" dev
printf 'dev ALL=(ALL) NOPASSWD: ALL\n' >/etc/sudoers.d/test
equal 'setuid sudo works' "$(/usr/bin/python3 tests/lib/drive.py --user dev -- sudo id -u 2>/dev/null)" 0
check 'a password is asked for on a terminal' sh -c '
	printf "dev ALL=(ALL) ALL\n" >/etc/sudoers.d/test
	/usr/bin/python3 tests/lib/drive.py --user dev --tty --on "password.*: =secret\n" -- sudo id -u | grep -q "^0"'
equal 'terminals are private' "$(ls /dev/pts)" ptmx
# The outer machine's name space is process 1's: /etc there must not know dev.
check 'the machine can be looked at' grep -q '^root:' /proc/1/root/etc/passwd
refute 'the machine does not see the user' grep -q '^dev:' /proc/1/root/etc/passwd
refute 'nor the sudoers file' test -e /proc/1/root/etc/sudoers.d/test
finish
