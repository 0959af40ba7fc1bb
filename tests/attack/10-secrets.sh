#!/bin/sh
# SPDX-License-Identifier: ISC
# attacks.md 1, 2, 4, 8, 9, 15, 42: reading what is the user's or the system's, writing outside the
# project, and the ways around a path that is watched.
. "$(dirname "$0")/lib.sh"

plant() { # path
	mkdir -p "$home/$(dirname "$1")" && echo "secret of $1" >"$home/$1" && chmod 600 "$home/$1"
}

# --- 1: keys, cookies, tokens
for file in .ssh/config .aws/credentials .gnupg/private-keys-v1.d/x.key .config/gh/hosts.yml .netrc .git-credentials \
	.mozilla/firefox/x.default/cookies.sqlite .kube/config .docker/config.json .npmrc .password-store/mail.gpg; do
	plant $file
done
chown -R dev:dev $home
for file in .ssh/id_ed25519 .aws/credentials .gnupg/private-keys-v1.d/x.key .config/gh/hosts.yml .netrc .git-credentials \
	.mozilla/firefox/x.default/cookies.sqlite .kube/config .docker/config.json .npmrc .password-store/mail.gpg; do
	control "read ~/$file" "grep -q secret ~/$file"
	escapes "read ~/$file" "$home/${file%%/*}" "cat $home/$file"
done
escapes 'list ~/.ssh' "$home/.ssh" "ls $home/.ssh"
vain 'copy ~/.aws away' .aws "tar cf x.tar -C $home .aws"
started=$(date +%s%N)
escapes 'the same once more, for the clock' "$home/.ssh" "cat $home/.ssh/id_ed25519"
took=$((($(date +%s%N) - started) / 1000000))
check "... within a second and the session's own start and end ($took ms)" test "$took" -lt 3000

# --- 2: what other sessions, and the user's own agent, keep
plant .claude/history.jsonl
plant .claude.json
plant .bash_history
chown -R dev:dev $home
for file in .claude/history.jsonl .claude.json .bash_history; do
	control "read ~/$file" "grep -q secret ~/$file"
	refused "read ~/$file" '' "test ! -e $home/$file && ! cat $home/$file && echo good"
done

# --- 42: neighbours and the system
echo 'secret of other' >/home/other/readable
chmod 755 /home/other && chmod 644 /home/other/readable
control "read another user's file" 'grep -q secret /home/other/readable'
escapes "read another user's file" /home/other 'cat /home/other/readable'
escapes "list another user's home" /home/other 'ls /home/other'
escapes "read root's home" /root 'ls /root'
refused 'read the shadow file' '' 'test ! -e /etc/shadow && ! cat /etc/shadow && echo good'
control 'see processes of others' 'ps -e -o uid= | grep -qx " *0"'
refused 'see processes of others' '' 'for d in /proc/[0-9]*; do [ "$(stat -c %u "$d")" = "$(id -u)" ] || exit 1; done; echo good'
control 'see the command line of others' 'tr "\0" " " </proc/1/cmdline | grep -q .'
refused 'see the command line, environment and root of process 1' '' \
	'test ! -e /proc/1/cmdline && ! cat /proc/1/environ && ! ls /proc/1/root && echo good'
refused 'read the kernel log' syslog 'test ! -e /dev/kmsg && ! dmesg 2>/dev/null && echo good'
if [ -e /proc/kcore ]; then
	escapes "read the machine's memory" /proc/kcore 'head -c 1 /proc/kcore'
else
	skip "read the machine's memory" 'kernel: no /proc/kcore'
fi
refused 'look at the machine: /sys, disks, mounts of others' '' \
	'test ! -e /sys/class && test -z "$(ls /dev/sd* /dev/vd* /dev/loop* /dev/mem 2>/dev/null)" && ! grep -q /home/other /proc/mounts && echo good'

# --- 4: what is run at the next login
for file in .zshrc .bashrc .profile .config/autostart/x.desktop .config/systemd/user/x.service; do
	control "write ~/$file" "mkdir -p ~/$(dirname $file) && echo x >>~/$file"
	rm -f "$home/$file"
	refused "write ~/$file" '' "mkdir -p $home/$(dirname $file) 2>/dev/null; ! (echo x >$home/$file) 2>/dev/null && echo good"
	refute '... not there' test -e "$home/$file"
done
cp /usr/bin/env /usr/bin/crontab && chmod 4755 /usr/bin/crontab
control 'run crontab' 'crontab true'
escapes 'run crontab' crontab 'crontab true'
rm /usr/bin/crontab

# --- 8, 31: writing outside the project, in whatever words
for path in /usr/bin/x /usr/lib/x /etc/x /opt/x; do
	refused "write $path" "${path%/x}" "! (echo x >$path) 2>/dev/null && echo good"
	refute '... not there' test -e "$path"
done
refused 'write /x' '' '! (echo x >/x) 2>/dev/null && echo good'
escapes 'write what the launcher goes by' /.agentcell '! (echo x >/.agentcell) 2>/dev/null'
refused 'change a tool' /usr/bin/git '! (: >>/usr/bin/git) 2>/dev/null && ! rm -f /usr/bin/git 2>/dev/null && ! mv /usr/bin/git /tmp 2>/dev/null && echo good'
mkdir $home/second && chown dev:dev $home/second
control 'write into a project that is not declared' 'echo x >../second/x'
refused 'write into a project that is not declared' '' "! (echo x >$home/second/new) 2>/dev/null; ! (echo x >../second/new) 2>/dev/null && echo good"
refute '... not there' test -e $home/second/new

# --- 9: links and names
control 'read a key through a link' 'ln -sf ~/.ssh/id_ed25519 link; grep -q secret link'
escapes 'read a key through a link' "$home/.ssh" "python3 -c '
import time
try:
    open(\"link\")
finally:
    time.sleep(5)'"
vain 'read a key through a link to a directory' id_ed25519 "ln -s $home/.ssh there; cat there/id_ed25519"
escapes 'read a key by ..' "$home/.ssh" 'cat ../.ssh/id_ed25519'
escapes 'read a key by a long way round' "$home/.ssh" "python3 -c '
import time
try:
    open(\"/proc/self/cwd/../../dev/./.ssh//id_ed25519\")
finally:
    time.sleep(5)'"
control 'make a hard link to a file elsewhere' 'ln ../second/x hard && rm hard'
refused 'make a hard link to a file elsewhere' '' '! ln /usr/bin/git hard 2>/dev/null && ! ln /etc/passwd hard 2>/dev/null && echo good'
mkdir $project/private && echo 'secret of private' >$project/private/file && chown -R dev:dev $project/private
ways='cat private/file; (cd private && cat file); cat ./private/../private/file; ln private/file h && cat h
	ln -s private/file l; cat l; cat /proc/self/cwd/private/file; cp -r private c; cat c/file; mv private p; cat p/file
	dd if=private/file; tar cf - private; find . -name file -exec cat {} +; echo good'
inside "$ways"
check 'control: without an exclusion each way shows it' test "$(grep -ac 'secret of private' /run/out)" -ge 10
rm -rf $project/h $project/l $project/c && mv $project/p $project/private
inside "$ways" AGENTCELL_EXCLUDE=private
equal 'an excluded directory, by each of them' "$(tail -n 1 /run/out)" good
refute '... shows nothing' grep -aq secret /run/out
check '... is on record' log_has event=denied "target=$project/private"
check '... and is where it was' grep -q secret $project/private/file

# --- 15: other programs, other roots
key=$home/.ssh/id_ed25519
for loader in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-*.so.*; do [ ! -x "$loader" ] || break; done
vain 'through /proc/self/root' .ssh "cat /proc/self/root$key"
escapes 'through /proc/self/root, staying' "$home/.ssh" "python3 -c '
import time
try:
    open(\"/proc/self/root$key\")
finally:
    time.sleep(5)'"
escapes 'with a copied program' "$home/.ssh" "cp /bin/cat mine && ./mine $key"
escapes 'by the loader' "$home/.ssh" "$loader /bin/cat $key"
escapes 'with a program from memory' "$home/.ssh" "python3 -c '
import os
fd = os.memfd_create(\"x\"); os.write(fd, open(\"/bin/cat\", \"rb\").read())
os.execve(fd, [\"cat\", \"$key\"], {})'"
escapes 'by a name that is built' "$home/.ssh" "k=.s; cat \"$home/\${k}sh/id_ed25519\""
escapes 'in a subshell, in the background' "$home/.ssh" "{ (sleep 0.2; cat $key) & }"
escapes 'after setsid and a double fork' "$home/.ssh" "setsid sh -c '(cat $key &)'"
nothing_left secrets
finish
