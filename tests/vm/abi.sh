#!/bin/sh
# SPDX-License-Identifier: ISC
# The other system call interface of x86: 32-bit programs, which this kernel runs.  Whoever uses it in a
# session is out, whatever for, even where no filter of system calls stands before the rules.  (x32 has
# no rule: its calls have numbers that the kernel's rules do not know.  The filter refuses them; second.sh.)
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/../audit/lib.sh"

key=/home/dev/.ssh/id_ed25519
listener_start
cp "$attack" /home/dev/project/attack
cp "$build/vm/attack32" /home/dev/project/attack32

equal 'outside, 32-bit programs run' "$(./attack32 plain /home/dev/project/text | sed -n 1p | cut -c1-7)" 'plain 3'
refute 'outside, the kernel has int 0x80' sh -c './attack b32 / | grep -q "not implemented"'

run -- ./attack b32 /
equal 'int 0x80 is an escape' "$status" "$escape"
refute 'int 0x80 does not live on' sh -c "printf '%s' \"\$1\" | grep -qx alive" - "$said"
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
