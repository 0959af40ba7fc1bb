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

# Re-runs the script as root in private namespaces, e.g. private -n -m, and below a cgroup of its own
# that looks like the root of the hierarchy: no other test or listener sees what happens there.
private() {
	[ "$(id -u)" = 0 ] || {
		echo "1..0 # SKIP needs root"
		exit 0
	}
	cgroups=/sys/fs/cgroup
	[ -e $cgroups/cgroup.procs ] || cgroups=$cgroups/unified
	[ -e $cgroups/cgroup.procs ] || {
		echo "1..0 # SKIP kernel: no cgroup version 2"
		exit 0
	}
	if [ -n "${IN_PRIVATE:-}" ]; then
		umount -l $cgroups && mount -t cgroup2 cgroup2 $cgroups || bail "cannot mount cgroup2"
		return
	fi
	export IN_PRIVATE=1
	nest=$cgroups/cell-test-$$
	mkdir "$nest" || bail "cannot make $nest"
	# shellcheck disable=SC2016
	sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec unshare "$@"' sh "$nest" \
		-C -m "$@" --propagation private -- "$0"
	code=$?
	echo 1 >"$nest/cgroup.kill"
	while ! find "$nest" -depth -type d -exec rmdir {} + 2>/dev/null; do [ -d "$nest" ] || break; done
	exit $code
}

finish() {
	echo "1..$tests"
	[ "$failures" = 0 ]
}
