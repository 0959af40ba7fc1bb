#!/bin/sh
# SPDX-License-Identifier: ISC
# The launcher in a hand-made cell: what it must notice, and what is confined afterwards; each act
# with its control, the same act in the same view by the same account without the launcher.
# shellcheck source=tests/cell/tap.sh
. "$(dirname "$0")/tap.sh"
private

work=$(mktemp -d) && chmod 755 "$work"
project=$work/project
launcher=$B/agentcell-launch
mkdir "$project" && cp "$B/cell/confine" "$project/" && chown -R 74900:74900 "$project"
[ -x "$launcher" ] || bail "no $launcher"
trap 'kill $outsider 2>/dev/null; rm -rf "$work"' EXIT

incell() { "$B/cell/incell" "$launcher" "$project" "$@" </dev/null; }

# --- it starts what it should, as it should
got=$(incell -- /bin/sh -c 'echo $0 "$@"; pwd; id -u; id -G; echo "$PROBE"' one "two  three" 2>&1)
is "runs the command with its arguments, directory and account" "$got" "incell: ready 1 well
one two  three
$project
74900
74900"
is "hands the environment on" "$(PROBE=here incell quiet -- /bin/sh -c 'echo "$PROBE"')" here
is "hands standard input on" "$(echo word | "$B/cell/incell" "$launcher" "$project" quiet -- /bin/cat)" word
direct() { "$B/cell/incell" "$launcher" "$project" quiet -- "$@"; }
# (the modes: sudo gives the session its terminal, what else is the user's stays so)
is "a pipe opened again by name" "$(echo word | { chmod 666 /dev/fd/0 && direct /bin/cat /dev/fd/0; })" word
echo word >"$work/word" && : >"$work/out" && chmod 666 "$work/word" "$work/out"
is "a file of the host opened again by name" "$(direct /bin/cat /dev/fd/0 <"$work/word")" word
direct /bin/sh -c 'echo more >/dev/fd/1' >"$work/out"
is "and for writing" "$(cat "$work/out")" more
is "but only as it was given" "$(direct /bin/sh -c 'echo x >/dev/fd/0' <"$work/word" 2>&1 | grep -c denied)
$(cat "$work/word")" "1
word"
if command -v script >/dev/null; then
	got=$(script -qec "chmod 666 /dev/fd/0; $B/cell/incell $launcher $project quiet -- /bin/sh -c \
		'test -t 0 && echo >/dev/tty terminal && stty -F /dev/fd/0 size >/dev/null && echo opened'" \
		/dev/null </dev/null | tr -d '\r')
	is "a terminal, opened again, with its ioctls" "$got" "terminal
opened"
else
	skip "a terminal" "needs script"
fi
incell quiet -- /bin/sh -c 'exit 7'
is "hands the exit code on" $? 7
# shellcheck disable=SC2016
incell quiet -- /bin/sh -c 'kill -TERM $$'
is "hands the signal on" $? 143
is "in the session's cgroup" "$(incell quiet -- /bin/sed -n 's/^0:://p' /proc/self/cgroup)" \
	/agentcell/f9f9f9f9f9f9
got=$(incell quiet -- /bin/sed -n 's/^\(CapInh\|CapPrm\|CapEff\|CapAmb\|NoNewPrivs\|Seccomp\):\t//p' \
	/proc/self/status | tr '\n' ' ')
is "no capability, no new privileges, filtered" "$got" \
	"0000000000000000 0000000000000000 0000000000000000 0000000000000000 1 2 "
got=$(incell quiet -- /bin/ls -l /proc/self/fd | awk '{ print $9 }' | tr '\n' ' ')
like "no descriptor but 0-2 (and ls's own)" "$got" '^ *0 1 2 3 $'
is "sleeping signals are not inherited" \
	"$(trap '' INT HUP; incell quiet -- /bin/sed -n 's/^SigIgn:\t//p' /proc/self/status)" 0000000000000000
incell quiet -- /bin/nothing 2>"$work/err"
is "a command that is not there: 127" "$? $(grep -c 'not in the session.s view' "$work/err")" "127 1"
printf 'no program' >"$project/text" && chmod 755 "$project/text"
incell quiet -- "$project/text" 2>"$work/err"
is "a file that is no program: 126, and no shell tries it" "$? $(grep -c 'Exec format' "$work/err")" "126 1"

# --- what it must notice: fault, words of the message
refuses() {
	got=$(incell quiet "$1" -- /bin/echo STARTED 2>&1)
	code=$?
	is "$1: refused, nothing started" "$code $(printf '%s' "$got" | grep -c STARTED)" "1 0"
	like "$1: says why" "$got" "$2"
}
refuses no-cell 'starts this program inside a session'
refuses no-view 'starts this program inside a session'
refuses loose-cell 'not the one that root put'
refuses foreign-cell 'not the one that root put'
refuses wrong-uid 'has uid 74901 and gid 74900 where'
refuses wrong-group 'group 27'
refuses capability 'has capabilities'
refuses outside-cwd 'working directory'
refuses stdin-directory 'descriptor 0 is neither'
refuses stdin-closed 'descriptor 0 is closed'
refuses stdin-path 'descriptor 0 is neither'
refuses stdin-inet 'descriptor 0 is neither'
refuses stdin-netlink 'descriptor 0 is neither'
refuses stdin-device 'descriptor 0 is neither'
if [ -e /dev/loop0 ]; then refuses stdin-block 'descriptor 0 is neither'; else
	skip "stdin-block" "kernel: no loop device"
fi
refuses not-a-socket 'not the listener.s socket'
refuses other-session 'answered for another session'
refuses refused 'refuses the start: no reason at all'
refuses hang-up 'wait for the listener'
refuses no-cgroup 'not in the cgroup'
refuses wrong-command 'not the one of session'
refuses open-excluded 'can be opened'
# A kernel without Landlock, and kernels that only claim to have done what they were asked.
refuses no-landlock 'no Landlock'
refuses fake-landlock 'trying to read a file outside the declared paths succeeded'
refuses fake-seccomp 'trying to make a file set-user-id succeeded'
[ "${AC_SLOW:-}" = "" ] || refuses no-go 'wait for the listener'
for arguments in "" "3" "3 --" "3 -- ls" "2 -- ls" "x -- ls" "-1 -- ls" "99999999999 -- ls" "-- ls"; do
	# shellcheck disable=SC2086
	got=$("$launcher" $arguments 2>&1)
	is "outside a session: [$arguments]" "$? $(printf '%s' "$got" | grep -c 'inside a session')" "1 1"
done

# --- what is confined: name, inside, and in the same view without the launcher
mkfifo "$work/ready"
setpriv --reuid 74900 --regid 74900 --clear-groups "$project/confine" "incell-$$" >"$work/ready" &
outsider=$!
read -r _ <"$work/ready"
inside=$(incell quiet secret-fd -- "$project/confine" "$project" $outsider "incell-$$")
bare=$(incell quiet secret-fd bare -- "$project/confine" "$project" $outsider "incell-$$")
table() {
	cat <<'END'
descriptor-7 EBADF ok
open-own ok ok
mkdir-own ok ok
read-passwd ok ok
read-cell EACCES ok
read-outside EACCES ok
write-outside EACCES ok
root-outside EACCES ok
symlink-own ok ok
symlink-outside EACCES ok
link-outside EXDEV EXDEV
init-root ENOENT ENOENT
parent-root ENOENT ENOENT
create-root EACCES EACCES
create-usr EROFS EROFS
write-passwd EACCES EACCES
list-root ok ok
tmp ok ok
null ok ok
urandom ok ok
chmod-plain ok ok
chmod-setuid EPERM ok
chmod-setgid EPERM ok
fchmod-setuid EPERM ok
fchmodat-setuid EPERM ok
fchmodat2-setuid EPERM *
open-setuid EPERM ok
openat-setuid EPERM ok
openat-tmpfile-setuid EPERM ok
creat-setgid EPERM ok
mknod-setuid EPERM ok
mknod-fifo ok ok
open-garbage-mode ok ok
openat2 ENOSYS ok
unshare-user EPERM ok
unshare-user-net EPERM ok
clone-user EPERM ok
clone3 ENOSYS ok
setns EPERM ok
mount EPERM EPERM
umount EPERM EPERM
pivot-root EPERM EPERM
chroot EPERM EPERM
fsopen EPERM EPERM
open-tree EPERM ok
mount-setattr EPERM ok
io-uring ENOSYS ok
io-uring-enter ENOSYS ok
userfaultfd ENOSYS ok
keyctl ENOSYS ok
add-key ENOSYS ok
request-key ENOSYS ok
pidfd-getfd EPERM ok
kcmp EPERM ok
bpf EPERM *
perf EPERM *
kexec EPERM *
module EPERM *
syslog EPERM *
fanotify EPERM ok
by-handle EPERM EFAULT
modify-ldt EPERM ok
unknown-call ENOSYS ENOSYS
seccomp ok ok
landlock ok ok
memfd ok ok
inotify ok ok
i386 ENOSYS *
x32 ENOSYS *
socket-unix ok ok
socket-inet ok ok
socket-inet6 ok ok
socket-route ok ok
socket-audit SIGSYS ok
socket-netfilter EPROTONOSUPPORT ok
socket-uevent EPROTONOSUPPORT ok
socket-vsock SIGSYS *
socket-vsock-high EAFNOSUPPORT *
socket-alg EAFNOSUPPORT *
socket-mptcp EPROTONOSUPPORT *
socket-sctp EPROTONOSUPPORT *
socket-udplite EPROTONOSUPPORT *
socket-raw SIGSYS EPERM
socket-packet SIGSYS EPERM
socketpair ok ok
multicast EPERM ok
multicast6 EPERM ok
v6only ok ok
abstract EPERM ok
signal-outsider EPERM ok
trace-outsider EPERM ok
signal-own ok ok
trace-own ok ok
dumpable ok ok
core-limit EFBIG *
sigpipe-default ok *
sixty-processes EAGAIN ok
ptmx ok ok
pts ok ok
raw-mode ok ok
window-size ok ok
controlling ok ok
dev-tty ok ok
tiocsti EPERM *
tiocsti-high EPERM *
tiocsetd EPERM ok
END
}
judge() { # <inside|without the launcher> <results> <act> <wanted>
	[ "$4" = '*' ] || is "$1: $3" "$(printf '%s\n' "$2" | sed -n "s/^$3 //p")" "$4"
}
table >"$work/table"
case $(uname -m) in
x86_64) ;;
*) sed -i -e '/^i386/d' -e '/^x32/d' -e '/^modify-ldt/d' "$work/table" ;;
esac
while read -r act in out; do
	judge inside "$inside" "$act" "$in"
	judge "without the launcher" "$bare" "$act" "$out"
done <"$work/table"

# --- programs that try on behalf
for ld in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do [ ! -e $ld ] || break; done
is "through the dynamic linker" "$(incell quiet -- "$ld" /bin/cat /outside/file 2>&1 | grep -c denied)" 1
is "through a copied program" "$(incell quiet -- /bin/sh -c \
	"cp /bin/cat $project/cat && $project/cat /outside/file" 2>&1 | grep -c denied)" 1
cp "$(command -v id)" "$work/id" && mkdir "$project/bin" && cp "$work/id" "$project/bin/id" &&
	chmod 4755 "$project/bin/id"
is "a set-user-id program gains nothing" "$(incell quiet -- "$project/bin/id" -u)" 74900
if command -v bwrap >/dev/null; then
	box='bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64
		--proc /proc --dev /dev --unshare-all /bin/echo nested'
	# shellcheck disable=SC2086
	is "a nested sandbox where allowed" "$(incell quiet nested -- /usr/bin/$box 2>&1)" nested
	# shellcheck disable=SC2086
	incell quiet -- /usr/bin/$box >/dev/null 2>&1
	is "and only there" "$(($? != 0))" 1
else
	skip "a nested sandbox" "no bwrap"
fi
nested=$(incell quiet nested -- "$project/confine" "$project" $outsider "incell-$$")
for pair in unshare-user:ok abstract:EPERM signal-outsider:EPERM chmod-setuid:EPERM io-uring:ENOSYS \
	socket-vsock:SIGSYS tiocsti:EPERM keyctl:ENOSYS bpf:EPERM fsopen:EPERM; do
	judge "with nested sandboxes allowed" "$nested" "${pair%:*}" "${pair#*:}"
done
ls -d /sys/fs/cgroup/agentcell/f9* /sys/fs/cgroup/unified/agentcell/f9* >/dev/null 2>&1
is "no cgroup is left" "$(($? != 0))" 1
finish
