#!/bin/sh
# SPDX-License-Identifier: ISC
# Puts the pinned harnesses from npm into a cache outside the tree and prints its directory.
#
#     install.sh [newest]
#
# Each package has a prefix of its own, complete when its `.complete` says so, and is never changed
# again: a version is a directory.  Exit 77 when npm or the network is missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
base=${AGENTCELL_TEST_CACHE:-}
[ -n "$base" ] || base=${XDG_CACHE_HOME:-/var/cache}/agentcell-test
cache=$base/harness

say() {
	echo "install.sh: $*" >&2
}

skip() {
	say "$*"
	exit 77
}

# An unfinished directory is thrown away and made again under its final name only when complete.
install_one() { # name package version
	target=$cache/$1-$3
	[ ! -e "$target/.complete" ] || return 0
	command -v npm >/dev/null || skip "npm is not installed"
	say "installing $2@$3"
	partial=$(mktemp -d "$cache/.partial.XXXXXX")
	if ! npm install --prefix "$partial" --no-save --no-audit --no-fund --no-update-notifier \
		--loglevel=error "$2@$3" >&2; then
		rm -rf "$partial"
		skip "npm cannot install $2@$3 (no network?)"
	fi
	chmod 755 "$partial"
	: >"$partial/.complete"
	rm -rf "$target"
	mv "$partial" "$target"
}

newest_of() { # package
	npm view "$1" version 2>/dev/null || skip "npm does not tell the newest version of $1"
}

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
: >"$cache/.current.new"
while read -r name package version; do
	case $name in '' | '#'*) continue ;; esac
	[ "${1-}" != newest ] || version=$(newest_of "$package")
	install_one "$name" "$package" "$version"
	echo "$name $version $cache/$name-$version" >>"$cache/.current.new"
done <"$here/versions"
mv "$cache/.current.new" "$cache/current"
echo "$cache"
