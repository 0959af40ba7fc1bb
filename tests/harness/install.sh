#!/bin/sh
# SPDX-License-Identifier: ISC
# Puts the pinned harnesses from npm into a cache outside the tree and prints its directory.
#
#     install.sh [check | newest]
#
# Each package has a prefix of its own, complete when its `.complete` says so, and is never changed
# again: a version is a directory.  AGENTCELL_TEST_CACHE puts it elsewhere below /var or /usr: of the rest
# the tests see a private copy.  Exit 77 when npm, the network or (check) a package is missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${AGENTCELL_TEST_CACHE:-/var/cache/agentcell-test}/harness
mode=${1-}

say() {
	echo "install.sh: $*" >&2
}

skip() {
	say "$*"
	exit 77
}

# What the packages need in turn is taken as it was on the day of the pins.
fetch() { # directory package version
	set -- --prefix "$1" "$2@$3"
	[ "$mode" = newest ] || set -- "$@" --before "$day"
	npm install --no-save --no-audit --no-fund --no-update-notifier --loglevel=error \
		--fetch-retries=4 --fetch-retry-mintimeout=2000 --fetch-retry-maxtimeout=20000 "$@" >&2
}

# Without a network npm goes on trying for a quarter of an hour: ask for something small first.
is_reachable() { # package version
	for try in 1 2 3; do
		timeout -k 5 30 npm view --fetch-retries=0 "$1@$2" version >/dev/null 2>&1 && return
		sleep "$try"
	done
	return 1
}

# An unfinished directory is thrown away and made again under its final name only when complete.
install_one() { # name package version
	target=$cache/$1-$3
	[ ! -e "$target/.complete" ] || return 0
	[ "$mode" != check ] || skip "$2@$3 is not in $cache: tests/harness/00-packages.sh gets it"
	command -v npm >/dev/null || skip "npm is not installed"
	is_reachable "$2" "$3" || skip "npm's registry does not answer"
	say "installing $2@$3"
	partial=$(mktemp -d "$cache/.partial.XXXXXX")
	if ! fetch "$partial" "$2" "$3"; then
		rm -rf "$partial"
		skip "npm cannot install $2@$3"
	fi
	chmod 755 "$partial"
	: >"$partial/.complete"
	rm -rf "$target"
	mv "$partial" "$target"
}

newest_of() { # package
	npm view "$1" version 2>/dev/null || skip "npm does not tell the newest version of $1"
}

if [ "$mode" != check ]; then
	mkdir -p "$cache"
	exec 9>"$cache/.lock"
	flock 9
fi
list=
while read -r name package version; do
	case $name in
	'' | '#'*) continue ;;
	before)
		day=$package
		continue
		;;
	esac
	[ "$mode" != newest ] || version=$(newest_of "$package")
	install_one "$name" "$package" "$version"
	list="$list$name $version
"
done <"$here/versions"
if [ "$mode" != check ]; then
	printf %s "$list" >"$cache/.installed.new"
	mv "$cache/.installed.new" "$cache/installed"
fi
echo "$cache"
