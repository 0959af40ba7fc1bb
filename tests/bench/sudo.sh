#!/bin/sh
# SPDX-License-Identifier: ISC
# What the plugin costs everybody else: `sudo -n true` plain and with the plugin, interleaved, as a
# ratio of medians (goal: within noise, at most 1.05).    sudo.sh [runs]
SANDBOX_NET=1
. "$(dirname "$0")/../lib/sandbox.sh"

sandbox_user ana
printf 'root ALL=(ALL) ALL\nana ALL=(ALL) NOPASSWD: ALL\n' >/etc/sudoers.d/bench
/usr/bin/python3 tests/lib/syslog.py /dev/log /run/syslog &
B=$build conf/install.sh >/run/install.log 2>&1 || {
	cat /run/install.log >&2
	exit 1
}
grep -v '^Plugin' /etc/sudo.conf >/run/plain.conf
cp -p /etc/sudo.conf /run/plugin.conf
/usr/bin/python3 tests/bench/sudo.py "${1:-100}"
