#!/bin/sh
# SPDX-License-Identifier: ISC
# The network, once: puts the pinned packages from npm where the other scripts of this directory look
# for them.  Without it they are skipped.
# AGENTCELL_HARNESS_VERSIONS=newest takes what npm calls latest instead of the pinned versions.
. "$(dirname "$0")/../lib/tap.sh"

# shellcheck disable=SC2086 # a word or none
if said=$("$(dirname "$0")/install.sh" ${AGENTCELL_HARNESS_VERSIONS-} 2>&1); then
	tap_pass "the packages are in $(echo "$said" | tail -1)"
elif [ $? = 77 ]; then
	skip 'packages from npm' "needs npm and its registry ($(echo "$said" | tail -1))"
else
	tap_fail 'packages from npm' "$said"
fi
finish
