#!/bin/sh
# SPDX-License-Identifier: ISC
# The lifecycle among its processes, checked by spin with the shipped objects linked in.
#   run.sh        the bounds of every pull request
#   run.sh full   larger ones (about a minute, 2 GB)
set -eu
. "$(dirname "$0")/common.sh"
spec/lines.sh
need spin "$CC"
objects="$B/libagentcell/lifecycle.o $B/libagentcell/drive.o"
bad=0
claims=$(sed -n 's/^ltl \([a-z_]*\).*/\1/p' spec/session.pml)

# bounds: sessions, uids, faults, crashes
defines() {
	echo "-DN=$1 -DU=$2 -DFAULTS=$3 -DCRASHES=$4"
}

safety() {
	verifier safety "$(defines "$@")" "-DSAFETY -DNOCLAIM ${COLLAPSE:-}" "$objects"
	if verify safety -m500000 -w22; then
		echo "spec: safety, $1 session(s), $2 uid(s), $3 faults, $4 crashes:" \
			"$(figure safety 'states, stored') states"
	else
		echo "spec: BROKEN: safety ($*)"
		tell safety
		bad=1
	fi
}

liveness() {
	verifier liveness "$(defines "$@")" "-DNFAIR=3" "$objects"
	for claim in $claims; do
		if verify liveness -a -f -N "$claim" -m500000 -w20; then
			echo "spec: $claim, $1 session(s), $3 faults, $4 crashes, weak fairness:" \
				"$(figure liveness 'states, stored') states," \
				"$(figure liveness 'transitions') transitions"
		else
			echo "spec: BROKEN: $claim ($*)"
			tell liveness -N "$claim"
			bad=1
		fi
	done
}

case ${1:-} in
full)
	COLLAPSE=-DCOLLAPSE
	safety 1 1 6 6
	safety 2 1 2 1
	safety 2 2 1 1
	liveness 1 1 5 4
	;;
*)
	safety 1 1 4 4
	safety 2 1 1 1
	liveness 1 1 4 3
	;;
esac
exit $bad
