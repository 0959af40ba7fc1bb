# SPDX-License-Identifier: ISC
# shellcheck shell=sh
# TAP in shell, sourced by the tests beside it.  Build directory: $B, default build.
tests=0 failures=0
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck disable=SC2034
case ${B:=build} in /*) ;; *) B=$top/$B ;; esac
# shellcheck disable=SC2034
cellctl=$B/cell/cellctl net=$B/cell/net

# is <name> <got> <wanted>
is() {
	tests=$((tests + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $tests - $1"
	else
		failures=$((failures + 1))
		echo "not ok $tests - $1"
		printf '%s\n' "$2" | sed 's/^/#      got: /'
		printf '%s\n' "$3" | sed 's/^/#   wanted: /'
	fi
}

# like <name> <got> <extended regular expression>
like() {
	if printf '%s\n' "$2" | grep -Eq -- "$3"; then
		is "$1" yes yes
	else
		is "$1" "$2" "/$3/"
	fi
}

skip() {
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
	[ "${CI:-}" != true ] || failures=$((failures + 1))
}

bail() {
	echo "Bail out! $1"
	exit 1
}

# Re-runs the script as root in private namespaces, e.g. private -n -m.
private() {
	[ "$(id -u)" = 0 ] || {
		echo "1..0 # SKIP needs root"
		exit 0
	}
	[ -z "${IN_PRIVATE:-}" ] || return 0
	export IN_PRIVATE=1
	exec unshare "$@" --propagation private -- "$0"
}

finish() {
	echo "1..$tests"
	[ "$failures" = 0 ]
}
