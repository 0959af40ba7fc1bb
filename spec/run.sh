#!/bin/sh
# SPDX-License-Identifier: ISC
# The lifecycle among its processes, checked by spin with the shipped objects linked in.
#   run.sh        the bounds of every pull request
#   run.sh full   larger ones (about a minute, 2 GB)
set -eu
. "$(dirname "$0")/common.sh"
bad=0
if spec/lines.sh; then
	echo "ok - spec: the claims stand where spec/README.md says"
else
	echo "not ok - spec: the claims stand where spec/README.md says"
	bad=1
fi
need spin "$CC"
objects="$B/libagentcell/lifecycle.o $B/libagentcell/drive.o"
claims=$(sed -n 's/^ltl \([a-z_]*\).*/\1/p' spec/session.pml)

# bounds: sessions, uids, faults, crashes
defines() {
	echo "-DN=$1 -DU=$2 -DFAULTS=$3 -DCRASHES=$4"
}

safety() {
	verifier safety "$(defines "$@")" "-DSAFETY -DNOCLAIM ${COLLAPSE:-}" "$objects"
	if verify safety -m500000 -w22; then
		echo "ok - spec: safety, $1 session(s), $2 uid(s), $3 faults, $4 crashes:" \
			"$(figure safety 'states, stored') states"
	else
		echo "not ok - spec: safety ($*)"
		tell safety
		bad=1
	fi
}

liveness() {
	verifier liveness "$(defines "$@")" "-DNFAIR=3" "$objects"
	for claim in $claims; do
		if verify liveness -a -f -N "$claim" -m500000 -w20; then
			echo "ok - spec: $claim, $1 session(s), $3 faults, $4 crashes, weak fairness:" \
				"$(figure liveness 'states, stored') states," \
				"$(figure liveness 'transitions') transitions"
		else
			echo "not ok - spec: $claim ($*)"
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
