#!/bin/sh
# SPDX-License-Identifier: ISC
# The rules in the kernel: ours are auditctl's, they live beside a site's, and what is found is left.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

rules=/etc/audit/rules.d/40-agentcell.rules
wanted=$(grep -c '^-a' $rules)

count() {
	auditctl -l | grep -c agentcell
}

auditctl -R $rules >/dev/null
equal 'auditctl loads every rule' "$(count)" "$wanted"
auditctl -l >/run/before
listener_start
equal 'the listener finds them all there' "$(count)" "$wanted"
listener_stop
check 'and leaves them there' sh -c 'auditctl -l | cmp - /run/before'
auditctl -D >/dev/null

listener_start
equal 'without them it loads them' "$(count)" "$wanted"
check 'as auditctl would' sh -c 'auditctl -l | sort >/run/after; sort /run/before | cmp - /run/after'
listener_stop
equal 'and takes them away' "$(count)" 0

auditctl -a always,exit -F arch=b64 -S openat -F exit=-EACCES -k site >/dev/null
auditctl -a always,exit -F arch=b64 -S connect -F success=1 -k site >/dev/null
auditctl -l >/run/before
listener_start
run -L -- cat /home/dev/.ssh/id_ed25519
equal "a site's rule that matches first does not hide an escape" "$status" "$escape"
listener_stop
check "a site's rules stay" sh -c 'auditctl -l | cmp - /run/before'
auditctl -D >/dev/null

auditctl -a never,exit -F arch=b64 -S openat -F uid\>=71000 -k site >/dev/null
listener_start
run -- true
equal "a site's rule that hides sessions lets none start" "$status" 99
check 'and the refusal says what is wrong' expr "$said" : '.*never'
auditctl -D >/dev/null
sees_again
equal 'and all rules are there' "$(count)" "$wanted"
auditctl -a always,exclude -F msgtype=1423 >/dev/null
run -- true
case $(uname -r) in
[1-5].* | 6.[0-9].* | 6.1[0-4].*) skip 'Landlock records are hidden' 'kernel: has none' ;;
*)
	equal 'nor where Landlock records are hidden' "$status" 99
	check 'and the refusal says so' expr "$said" : '.*Landlock'
	;;
esac
listener_stop
auditctl -D >/dev/null

# augenrules --load while the listener watches: it gives way until all is there.
listener_start
{
	echo -D
	grep '^-a' $rules
	echo '-a always,exit -F arch=b64 -S connect -F success=1 -k site'
} >/run/site.rules
check 'a site can load its rules anew' auditctl -R /run/site.rules
equal 'all of them' "$(auditctl -l | grep -c 'key=site')" 1
equal 'and ours, once' "$(count)" "$wanted"
check 'then sessions start' wait_for 30 starts
listener_stop
equal 'what the site has loaded stays' "$(count)" "$wanted"
auditctl -D >/dev/null

sed -i 's/71999/71998/' $rules
"$build/agentcelld" 8>&- >/run/out 2>&1
equal 'another range of uids: it does not start' "$?" 1
check 'and says why' grep -q 'uid_range = 71000-71999' /run/out
sed -i 's/71998/71999/' $rules
chmod o+w $rules
"$build/agentcelld" 8>&- >/run/out 2>&1
equal 'a rules file that others may write: it does not start' "$?" 1
chmod o-w $rules
mv /etc/agentcell/silent.conf /run/silent.conf
"$build/agentcelld" 8>&- >/run/out 2>&1
equal 'without silent.conf it does not start' "$?" 1
mv /run/silent.conf /etc/agentcell/silent.conf
sed -i 's/^\[firewall\]/[audit]\nenable_audit = no\n[firewall]/' /etc/agentcell/agentcell.conf
auditctl -e 0 >/dev/null
"$build/agentcelld" 8>&- >/run/out 2>&1
equal 'auditing is off and must not be switched on: it does not start' "$?" 1
check 'and says what to do' grep -q 'auditctl -e 1' /run/out
auditctl -e 1 >/dev/null
listener_start
run -- true
equal 'auditing is on: it starts' "$status" "$clean"
"$build/agentcelld" 8>&- >/run/out 2>&1
equal 'a second listener does not start' "$?" 1
run -- true
equal 'and does no harm to the first' "$status" "$clean"
listener_stop
equal 'auditing stays on' "$(sandbox_audit_status enabled)" 1
unshare -n "$build/agentcelld" 8>&- >/run/out 2>&1
equal 'in another network namespace it does not start' "$?" 1
finish
