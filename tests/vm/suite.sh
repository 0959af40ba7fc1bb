#!/bin/sh
# SPDX-License-Identifier: ISC
# One boot for some scripts of the suites alone (tests/vm/run suite), on a machine that is as new: which
# ones, the kernel's command line says.
cd /srv/agentcell/tests || exit 1
for program in $(sed -n 's/.*agentcell[.]suite=\([^ ]*\).*/\1/p' /proc/cmdline | tr , ' '); do
	echo "# $program"
	timeout -k 10 3000 "./$program" || echo "# $program: exit status $?"
done
dmesg | grep -E 'agentcell|segfault|soft lockup|hung task' | tail -20 | sed 's/^/# /'
