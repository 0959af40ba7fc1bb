#!/bin/sh
# SPDX-License-Identifier: ISC
# Makes the machine of `make check-vm`, once: a Debian 12 with its own kernel and systemd, from apt alone
# (the mirror and the cache that this host's apt uses), with the packages that are named as arguments.
# Prints the directory that holds it; it lies outside the tree and is never changed again:
#
#     root/     the same files, to build in     disk.ext4     vmlinuz     initrd.img
#
# A machine is known by this script and its packages; `rm -r` of the directory above makes it anew.
set -eu

suite=bookworm
size=8G
system='linux-image-amd64 systemd-sysv dbus udev kmod libnss-systemd zstd gcc-multilib'

say() {
	echo "image.sh: $*" >&2
}

cache=${AGENTCELL_VM_CACHE:-${XDG_CACHE_HOME:-/var/cache}/agentcell-vm}
name=$suite-$({ cat "$0" && echo "$*"; } | sha256sum | cut -c1-12)
machine=$cache/$name
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
if [ -e "$machine/complete" ]; then
	echo "$machine"
	exit
fi

# deb lines of this host's sources for Debian, in the form of sources.list(5).
sources() {
	apt-get indextargets --format "${1-deb }\$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
		'Identifier: Packages' 'Origin: Debian' | sort -u
}

# The host's proxy, if apt has one.
proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy)
[ -z "$proxy" ] || export http_proxy="$proxy"

# As debootstrap left it, the system starts services of what is installed: there is nothing to start.
prepare() { # root
	printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
	chmod 755 "$1/usr/sbin/policy-rc.d"
	sources >"$1/etc/apt/sources.list"
	echo agentcell-vm >"$1/etc/hostname"
	printf '127.0.0.1 localhost\n127.0.1.1 agentcell-vm\n' >"$1/etc/hosts"
	echo '/dev/vda / ext4 defaults 0 1' >"$1/etc/fstab"
	mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/srv/agentcell"
	echo MODULES=list >"$1/etc/initramfs-tools/conf.d/agentcell"
	printf 'virtio_pci\nvirtio_blk\next4\n' >"$1/etc/initramfs-tools/modules"
}

# What the machine does when it is up: whatever the second disk says, which is a tar archive.
starter() { # root
	cat >"$1/usr/local/sbin/agentcell-vm" <<-'END'
		#!/bin/sh
		# Takes the tree from the second disk when there is none, and runs the stage that the kernel's
		# command line names.
		[ -e /srv/agentcell/Makefile ] || tar -C /srv/agentcell -xf /dev/vdb
		exec /srv/agentcell/tests/vm/guest.sh $(sed -n 's/.*agentcell[.]stage=\([a-z0-9-]*\).*/\1/p' /proc/cmdline)
	END
	chmod 755 "$1/usr/local/sbin/agentcell-vm"
	cat >"$1/etc/systemd/system/agentcell-vm.service" <<-'END'
		[Unit]
		Description=tests of agentcell
		Wants=dev-virtio\x2dports-tap.device
		After=multi-user.target dev-virtio\x2dports-tap.device
		[Service]
		Type=oneshot
		ExecStart=/usr/local/sbin/agentcell-vm
		TimeoutStartSec=infinity
		[Install]
		WantedBy=default.target
	END
	mkdir -p "$1/etc/systemd/system/default.target.wants"
	ln -sf /etc/systemd/system/agentcell-vm.service "$1/etc/systemd/system/default.target.wants/"
	ln -sf /lib/systemd/system/multi-user.target "$1/etc/systemd/system/default.target"
	for unit in apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service \
		fstrim.timer dpkg-db-backup.timer getty@tty1.service serial-getty@ttyS0.service \
		systemd-timesyncd.service man-db.timer; do
		ln -sf /dev/null "$1/etc/systemd/system/$unit"
	done
}

install_packages() { # root package...
	unshare -m --propagation private -- sh -euc '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --bind /dev "$root/dev"
		mount --bind /var/cache/apt/archives "$root/var/cache/apt/archives"
		cp /etc/resolv.conf "$root/etc/resolv.conf"
		export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
		chroot "$root" apt-get -q update
		chroot "$root" apt-get -q install -y --no-install-recommends "$@"
		: >"$root/etc/resolv.conf"
	' sh "$@"
}

partial=$(mktemp -d "$cache/.partial.XXXXXX")
trap 'rm -rf --one-file-system "$partial"' EXIT
chmod 755 "$partial"
root=$partial/root
{
	say "making $machine (some minutes, once)"
	mirror=$(sources '' | awk -v suite=$suite '$2 == suite { print $1; exit }')
	debootstrap --variant=minbase --cache-dir=/var/cache/apt/archives "$suite" "$root" "$mirror"
	prepare "$root"
	# shellcheck disable=SC2086 # words
	install_packages "$root" $system "$@"
	rm -f "$root/usr/sbin/policy-rc.d"
	rm -rf "$root"/var/lib/apt/lists/*
	starter "$root"
	cp "$root"/boot/vmlinuz-* "$partial/vmlinuz"
	cp "$root"/boot/initrd.img-* "$partial/initrd.img"
	mke2fs -q -t ext4 -d "$root" "$partial/disk.ext4" "$size"
	: >"$partial/complete"
} >"$cache/image.log" 2>&1 || {
	say 'failed; the end of its log:'
	tail -20 "$cache/image.log" >&2
	exit 1
}
mv "$partial" "$machine"
echo "$machine"
