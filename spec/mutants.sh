#!/bin/sh
# SPDX-License-Identifier: ISC
# Every single-cell edit of the lifecycle table must be caught by the claims about one step (A), by
# the explorer (B) or by spin (C), or be listed in spec/equivalents with a reason.
#   mutants.sh      B sees what A let pass, C what both let pass (two minutes)
#   mutants.sh all  each sees every edit: how strong is each alone (a quarter of an hour)
set -eu
. "$(dirname "$0")/common.sh"
need spin "$CC"
flags="-std=gnu11 -D_GNU_SOURCE -O2 -w -Ilibagentcell -Itests/unit"
list=$work/mutants.txt
claims=$(sed -n 's/^ltl \([a-z_]*\).*/\1/p' spec/session.pml)

for source in spec/mutable.c spec/mutants.c tests/unit/explorer.c tests/unit/fake_world.c tests/unit/claims.c \
	libagentcell/drive.c; do
	# shellcheck disable=SC2086
	$CC $flags -c -o "$work/$(basename "$source" .c).o" "$source"
done
(cd "$work" && $CC -o mutants mutants.o mutable.o explorer.o fake_world.o claims.o drive.o)
verifier mutants-safety "-DN=1 -DU=1 -DFAULTS=2 -DCRASHES=1" "-DSAFETY -DNOCLAIM" \
	"$work/mutable.o $work/drive.o"
verifier mutants-liveness "-DN=1 -DU=1 -DFAULTS=2 -DCRASHES=1" "-DNFAIR=3" \
	"$work/mutable.o $work/drive.o"

# A verifier that crashes, or runs out of depth or time, has caught the edit, too.
spin_catches() {
	MUTANT=$1
	export MUTANT
	verify mutants-safety -m20000 -w18 || return 0
	for claim in $claims; do
		verify mutants-liveness -a -f -N "$claim" -m20000 -w18 || return 0
	done
	return 1
}

if [ "${1:-}" = all ]; then
	"$work/mutants" all >"$list"
else
	"$work/mutants" >"$list"
fi

: >"$list.new"
while read -r number a b edit; do
	c=-
	if [ "${1:-}" = all ] || [ "$a$b" = -- ]; then
		if spin_catches "$number"; then c=C; fi
	fi
	echo "$a $b $c $edit" >>"$list.new"
done <"$list"
mv "$list.new" "$list"

bad=0
grep -v '^#' spec/equivalents | cut -f1 >"$work/equivalents"
sed -n 's/^- - - //p' "$list" >"$work/survivors"
sed '/^- - - /d; s/^. . . //' "$list" >"$work/caught"
if grep -Evf "$work/equivalents" "$work/survivors"; then
	echo "spec-mutants: BROKEN: nothing catches the edits above"
	bad=1
fi
if grep -Ef "$work/equivalents" "$work/caught"; then
	echo "spec-mutants: BROKEN: the edits above are listed as equivalent, yet caught"
	bad=1
fi
while read -r pattern; do
	grep -Eq "$pattern" "$work/survivors" && continue
	echo "spec-mutants: BROKEN: no edit matches $pattern"
	bad=1
done <"$work/equivalents"

count() {
	grep -Ec "$1" "$list" || true
}
echo "spec-mutants: $(count .) edits: $(count '^A') caught by A, $(count '^. B') by B," \
	"$(count '^. . C') by C$([ "${1:-}" = all ] || echo ' (B and C saw what was left)')," \
	"$(count '^- - -') equivalent; only B: $(count '^- B -'), only C: $(count '^- - C')"
exit $bad
