#!/bin/sh
# SPDX-License-Identifier: ISC
# The other system call interfaces of x86: 32-bit programs and x32, which this kernel has.  Whoever uses
# one in a session is out, whatever for; outside all of them work.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/../audit/lib.sh"

key=/home/dev/.ssh/id_ed25519
listener_start
cp "$attack" /home/dev/project/attack
cp "$build/vm/attack32" /home/dev/project/attack32

equal 'outside, 32-bit programs run' "$(./attack32 plain /home/dev/project/text | sed -n 1p | cut -c1-7)" 'plain 3'
refute 'outside, the kernel has int 0x80' sh -c './attack b32 / | grep -q "not implemented"'
refute 'outside, the kernel has x32' sh -c './attack x32 / | grep -q "not implemented"'

for word in b32 x32; do
	run -- ./attack $word /
	equal "$word is an escape" "$status" "$escape"
	refute "$word does not live on" sh -c "printf '%s' \"\$1\" | grep -qx alive" - "$said"
done
for word in plain create link openat2 dots execute move remove own-uid memory-program ring namespaces; do
	run -- ./attack32 $word $key
	equal "32-bit $word is an escape" "$status" "$escape"
	refute "32-bit $word does not live on" sh -c "printf '%s' \"\$1\" | grep -qx alive" - "$said"
done
equal 'the secret is as it was' "$(cat $key)" secret
run -- ./attack plain /home/dev/project/text
equal 'control: a 64-bit program goes on' "$status" "$clean"
check 'nothing is left' nothing_left
listener_stop
finish
