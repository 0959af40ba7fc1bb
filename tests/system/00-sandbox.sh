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
# The parent of this shell still sees the machine itself.
outside() {
	nsenter -m -t "$PPID" -- "$@"
}
check 'the machine can be looked at' outside grep -q '^root:' /etc/passwd
refute 'it does not know the user' outside grep -q '^dev:' /etc/passwd
refute 'nor the sudoers file' outside test -e /etc/sudoers.d/test
finish
