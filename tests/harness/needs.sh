# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034,SC2154
# Source it first, before the sandbox takes the network away: what the harness tests need is there, or
# the script is skipped.  It gets nothing itself: `make deps-harness` and 00-packages.sh do.

needs_missing() {
	for needs_program in node npm git rg tmux strace curl file "$@"; do
		command -v "$needs_program" >/dev/null || {
			echo "$needs_program (make deps-harness)"
			return
		}
	done
	[ -n "${AGENTCELL_HARNESS_VERSIONS-}" ] || "$(dirname "$0")/install.sh" check 2>&1 >/dev/null | tail -1
}

if [ -z "${SANDBOX_WORK-}" ] && needs_said=$(needs_missing) && [ -n "$needs_said" ]; then
	echo "ok 1 - ${0##*/} # SKIP needs $needs_said"
	echo 1..1
	exit 0
fi
