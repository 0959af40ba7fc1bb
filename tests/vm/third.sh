#!/bin/sh
# SPDX-License-Identifier: ISC
# The third boot: the site's audit rules were locked before ours were there.  No session can be watched,
# so there is none; everything else works.
# shellcheck source=tests/vm/lib.sh
. /srv/agentcell/tests/vm/lib.sh

mv /root/40-agentcell.rules /etc/audit/rules.d/
equal 'the rules are locked' "$(auditctl -s | sed -n 's/^enabled //p')" 2
refute 'and ours are not among them' sh -c 'auditctl -l | grep -q agentcell'
timeout 60 agentcelld >/run/listener 2>&1
equal 'the listener refuses' "$?" 1
check 'it says that the rules are locked, and what to do' grep -q 'immutable.*reboot' /run/listener
[ "$tap_failed" = 0 ] || sed 's/^/# /' /run/listener
refute 'so does its unit' systemctl start agentcelld
systemctl stop agentcelld
agent ada sh -c 'touch ran' >/run/out 2>&1
equal 'no session starts' "$?" 1
refute 'no agent process existed' test -e /home/ada/project/ran
check 'the refusal says why' grep -qi listener /run/out
nothing_left 'refused'
agentcell doctor >/run/doctor 2>&1
refute 'doctor is not content' test "$?" = 0
check 'and names the way out' grep -qi reboot /run/doctor
# The rest of the system is as usable as ever.
echo 'ada ALL=(root) NOPASSWD: /usr/bin/id' >/etc/sudoers.d/plain
equal 'sudo works for everything else' "$(as ada sudo -n /usr/bin/id -u)" 0
check 'accounts can be made' useradd -m someone
check 'services run' systemctl restart systemd-journald
finish
