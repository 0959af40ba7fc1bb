# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034,SC2154
# Source it first, before the sandbox takes the network away: what the harness tests need is installed
# here, once; the sandbox runs the script again and then there is nothing left to do.
# AGENTCELL_HARNESS_VERSIONS=newest takes what npm calls latest instead of the pinned versions.

# shellcheck disable=SC2086 # a word or none
if [ -z "${SANDBOX_WORK-}" ] &&
	! needs_said=$("$(dirname "$0")/install.sh" ${AGENTCELL_HARNESS_VERSIONS-} 2>&1); then
	echo "ok 1 - ${0##*/} # SKIP needs the harnesses from npm ($(echo "$needs_said" | tail -1))"
	exit 0
fi
