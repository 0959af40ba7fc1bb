#!/bin/sh
# SPDX-License-Identifier: ISC
# What a session costs before its command runs, and in all: against plain sudo, bubblewrap with an equal
# view, and firejail.  Medians of interleaved runs, in milliseconds; look at the ratios.
#
#   start   from the first fork to the command's own first act
#   whole   until the caller has the exit status
#
# ROUNDS (15) of each.  Sessions are run in a project of 100 and one of FILES (100000) files; a session with
# the large one read-only is the cost of the view alone, since only what can be written is backed up.
# Then where a session's time goes, by its journal.  A backup reads again what changed less than a minute
# before the last one: SETTLE (61) seconds pass first, for a project that nobody is writing to just now.
. "$(dirname "$0")/../lib/session.sh"

rounds=${ROUNDS:-15} files=${FILES:-100000} settle=${SETTLE:-61}
home=/home/dev
make_files() { # directory number
	/usr/bin/python3 - "$1" "$2" <<-'END'
		import os, sys
		top, number = sys.argv[1], int(sys.argv[2])
		for i in range(number):
		    directory = "%s/d%d" % (top, i // 100)
		    if i % 100 == 0:
		        os.makedirs(directory)
		    with open("%s/f%d" % (directory, i), "w") as file:
		        file.write("%d\n" % i)
	END
	chown -R dev:dev "$1"
}
make_files $home/small 100
make_files $home/large "$files"
sleep "$settle"
printf 'dev ALL=(nobody) NOPASSWD: ALL\n' >>/etc/sudoers.d/agents
mkdir -p /run/user/1001 && chown dev /run/user/1001
for project in small large; do # the first backup is another story: tests/bench/backup.sh
	(cd $home/$project && setpriv --reuid dev --regid dev --init-groups env -i PATH=/usr/bin HOME=$home USER=dev \
		sudo -n -u agentcell-worker true >/dev/null 2>&1 8>&-)
done

/usr/bin/python3 - "$rounds" "$files" 8>&- <<'END'
import calendar, glob, grp, json, os, pwd, shutil, statistics, sys, time

rounds, files = int(sys.argv[1]), int(sys.argv[2])
user = pwd.getpwnam("dev")
groups = [g.gr_gid for g in grp.getgrall() if "dev" in g.gr_mem] + [user.pw_gid]
clock = ["/usr/bin/date", "+%s%N"]
links = [x for name in ("bin", "sbin", "lib", "lib64") if os.path.islink("/" + name)
         for x in ("--symlink", "usr/" + name, "/" + name)]


def bwrap(project):
    return ["/usr/bin/bwrap", "--ro-bind", "/usr", "/usr", *links, "--ro-bind", "/etc/ssl", "/etc/ssl",
            "--ro-bind", "/etc/alternatives", "/etc/alternatives", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
            "--tmpfs", "/home", "--bind", project, project, "--chdir", project, "--unshare-all", "--die-with-parent",
            "--new-session", *clock]


small, large = user.pw_dir + "/small", user.pw_dir + "/large"
cell = ["/usr/bin/sudo", "-n", "-u", "agentcell-worker"]
cases = [
    ("fork and exec", small, clock),
    ("sudo -u nobody", small, ["/usr/bin/sudo", "-n", "-u", "nobody", *clock]),
    ("bwrap, as the user", small, bwrap(small)),
    ("firejail --private", small, ["/usr/bin/firejail", "--quiet", "--noprofile", "--private=" + small, "--private-dev",
                                   "--net=none", *clock]),
    ("session, 100 files", small, [*cell, *clock]),
    ("session, %d files" % files, large, [*cell, *clock]),
    ("the same, read-only", small, [*cell, "AGENTCELL_READ_PATHS=" + large, *clock]),
]
cases = [c for c in cases if shutil.which(c[2][0])]


def launch(directory, argv, stdin):
    reader, writer = os.pipe()
    started = time.time_ns()
    pid = os.fork()
    if pid == 0:
        os.dup2(stdin, 0)
        os.dup2(writer, 1)
        os.dup2(os.open("/dev/null", os.O_RDWR), 2)
        os.setgroups(groups)
        os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
        os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
        os.chdir(directory)
        os.execve(argv[0], argv, {"PATH": "/usr/bin:/bin", "HOME": user.pw_dir, "USER": "dev", "LANG": "C"})
    os.close(writer)
    return started, pid, reader


def run(directory, argv):
    started, pid, reader = launch(directory, argv, 0)
    said = b""
    while (chunk := os.read(reader, 4096)):
        said += chunk
    os.close(reader)
    status = os.waitpid(pid, 0)[1]
    ended = time.time_ns()
    if status or not said.strip().isdigit():
        return None
    return (int(said) - started) / 1e6, (ended - started) / 1e6


times = {name: [] for name, _, _ in cases}
for _ in range(rounds):
    for name, directory, argv in cases:
        result = run(directory, argv)
        if result:
            times[name].append(result)
print("%-24s %8s %8s %8s %8s" % ("", "start", "min", "whole", "min"))
for name, _, _ in cases:
    got = times[name]
    if not got:
        print("%-24s does not run here" % name)
        continue
    start, whole = zip(*got)
    print("%-24s %8.1f %8.1f %8.1f %8.1f   %d runs" %
          (name, statistics.median(start), min(start), statistics.median(whole), min(whole), len(got)))

# --- Where it goes: the journal is there while the command runs; the end is in the log.
steps = [("sudo, sudoers, plan", None, "planned"), ("policy on disk, PAM", "planned", "backup"),
         ("backup (the rest of it)", "backup", "account"), ("account, firewall", "account", "monitor"),
         ("listener, canary", "monitor", "switch"), ("view, launcher, release", "switch", "running"),
         ("exec", "running", None)]


def dissect(directory):
    asleep, wake = os.pipe2(os.O_CLOEXEC)
    offset = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    started, pid, reader = launch(directory, [*cell, "/usr/bin/sh", "-c", "date +%s%N; read line"], asleep)
    os.close(asleep)
    said = os.read(reader, 64)
    at = {None: started}
    for journal in glob.glob("/run/agentcell/sessions/*/journal"):
        for line in open(journal):
            word = line.split()
            at[word[1]] = int(word[4]) * 10**6 + offset
    ending = time.time_ns()
    os.close(wake)
    os.close(reader)
    os.waitpid(pid, 0)
    ended = time.time_ns()
    last = json.loads(open("/var/log/agentcell/agentcell.jsonl").readlines()[-1])
    stamp = last["time"]
    gone = (calendar.timegm(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")) * 1000 + int(stamp[20:23])) * 10**6
    if not said.strip().isdigit() or "running" not in at or last["event"] != "end":
        return None
    took = [(at[to] if to else int(said)) - at[since] for _, since, to in steps]
    return [t / 1e6 for t in took + [gone - ending, ended - gone]]


print()
for project, number in (small, 100), (large, files):
    got = [g for g in (dissect(project) for _ in range(rounds)) if g]
    print("session, %d files: medians of %d" % (number, len(got)))
    for name, times_of in zip([s[0] for s in steps] + ["cell taken away", "report, return"], zip(*got)):
        print("  %-24s %8.1f" % (name, statistics.median(times_of)))
END
