# SPDX-License-Identifier: ISC
"""Compares plain sudo with sudo under agentcell's plugin, case by case, inside the sandbox.

passthrough.table holds the cases; its head explains the syntax.  Everything that a person, a
script or an auditor could see is compared: output, exit status, syslog, I/O logs and their replay,
sudo_logsrvd's store, tickets and files.  Only what names a moment or a process is masked.

    passthrough.py TABLE --plugin [name...]      plain against what conf/install.sh made of it
    passthrough.py TABLE --plain [name...]       plain against plain: the cases are repeatable
    passthrough.py TABLE --mutants               plain against a changed sudo: every channel is seen
"""

import difflib
import glob
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import drive  # noqa: E402

SUDO_CONF = "/etc/sudo.conf"
CASE_RULES = "/etc/sudoers.d/case"
IO_LOG = "/var/log/sudo-io"
SERVER_LOG = "/var/log/sudo-server"
STATES = "/usr/local/lib/test-states"  # plain and plugin: pam.d and sudo.conf before and after install


class Case:
    def __init__(self, name, user, how, command):
        self.name, self.user, self.command = name, user, command
        self.tty = False
        self.options = {}
        self.lists = {"on": [], "env": [], "file": []}
        for word in how:
            key, _, value = word.partition("=")
            if word == "tty":
                self.tty = True
            elif key in self.lists:
                self.lists[key].append(value)
            elif key in ("rules", "conf", "input", "answer", "own", "before", "cwd", "timeout"):
                self.options[key] = value
            else:
                raise SystemExit(f"case {name}: unknown word {word}")


class Table:
    def __init__(self, path):
        self.cases, self.mutants = [], []
        self.texts = {"rules": {}, "conf": {}}
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip() and not line.startswith("#"):
                    self.add(line.rstrip("\n"), f"{path}:{number}")

    def add(self, line, where):
        head, colon, text = line.partition(" : ")
        word = shlex.split(head)
        if not colon or not word:
            raise SystemExit(f"{where}: no ' : '")
        if word[0] in self.texts:
            old = self.texts[word[0]].get(word[1], "")
            self.texts[word[0]][word[1]] = old + text.strip() + "\n"
        elif word[0] == "mutant":
            self.mutants.append((word[1], word[2], text.strip()))
        elif word[0] == "case" and all(c.name != word[1] for c in self.cases):
            self.cases.append(Case(word[1], word[2], word[3:], text.strip()))
        else:
            raise SystemExit(f"{where}: neither a known word nor a new case: {word[:2]}")

    def text(self, kind, case):
        names = case.options.get(kind, "")
        return "".join(self.texts[kind][name] for name in names.split(",") if name)


def write(path, text, mode=0o644):
    with open(path + ".new", "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
    os.rename(path + ".new", path)


def reactions(case):
    found = [(rb"(?i)pass(word|phrase)?[^\n]*: ?\Z", drive.unescape(answer + "\n"))
             for answer in filter(None, case.options.get("answer", "").split(","))]
    return found + [drive.reaction(text) for text in case.lists["on"]]


def clear():
    for path in (IO_LOG, SERVER_LOG, "/run/sudo/ts", "/var/lib/sudo"):
        shutil.rmtree(path, ignore_errors=True)
    for path in glob.glob("/tmp/*") + glob.glob("/var/tmp/sudo*"):
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    os.makedirs("/var/lib/sudo/lectured", 0o700)


MASKS = [(re.compile(regex, re.M), text) for regex, text in (
    (r"<(\d+)>\w{3} [ \d]\d \d\d:\d\d:\d\d ", r"<\1>"),  # syslog's time
    (r"\b(\w[\w.-]*)\[\d+\]: ", r"\1[PID]: "),
    (r"\b\w{3} [ \d]\d \d\d:\d\d:\d\d\b( \d{4})?", "TIME"),
    (r'"(seconds|nanoseconds|pid|ppid|pgid|sid|tcpgid)": ?\d+', r'"\1": N'),
    (r'"(localtime|iso8601)": ?"[^"]*"', r'"\1": "TIME"'),
    (r'"uuid": ?"[^"]*"', '"uuid": "UUID"'),
    (r"UUID=[0-9a-f-]+", "UUID=UUID"),
    (r"RUNTIME=[\d.]+", "RUNTIME=N"),
    (r"\b1[5-9]\d{8}\b", "EPOCH"),
    (r"(/var/tmp/\w+)\.[A-Za-z0-9]{6,8}\b", r"\1.XXXXXXXX"),  # sudoedit's copy
    (r"\b(root|carol)\.[A-Za-z0-9]{6}\b", r"\1.XXXXXX"),  # iolog_file=%{runas_user}.XXXXXX
    (r"^\[1\] \d+", "[1] PID"),  # a shell's background job
)]


def mask(data):
    text = data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data
    for regex, replacement in MASKS:
        text = regex.sub(replacement, text)
    return text


def program(line):
    """Two programs' lines may overtake each other; one program's may not."""
    return "sudo_logsrvd" in line


def sum_timing(text):
    """A timing file is cut where the scheduler cut it: keep what was moved, not in which pieces."""
    total, events = {}, []
    for line in text.splitlines():
        field = line.split()
        if field[0] in "01234":
            total[field[0]] = total.get(field[0], 0) + int(field[2])
        else:
            events.append(" ".join([field[0]] + field[2:]))
    return "\n".join(f"{k}: {total[k]}" for k in sorted(total)) + "\n" + "\n".join(events)


def read_log(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return sum_timing(data.decode()) if path.endswith("timing") else mask(data)


def store(directory):
    """Every file of an I/O log store, and what sudoreplay makes of each session."""
    text = ""
    for path in sorted(glob.glob(directory + "/**", recursive=True)):
        if not os.path.lexists(path):
            continue
        name = mask(path[len(directory):])
        info = os.lstat(path)
        text += f"{name} {info.st_mode:o} {info.st_uid}:{info.st_gid}\n"
        if os.path.isfile(path):
            text += read_log(path) + "\n"
        if os.path.basename(path) == "timing":
            replay = subprocess.run(
                ["sudoreplay", "-n", "-d", directory, "-s", "10000", "-m", "0.01", "-f",
                 "stdin,stdout,stderr,ttyin,ttyout", os.path.dirname(path)[len(directory):].strip("/")],
                capture_output=True, check=False, timeout=20, stdin=subprocess.DEVNULL)
            text += f"replay exit {replay.returncode}\n" + mask(replay.stdout + replay.stderr)
    if text:
        listing = subprocess.run(["sudoreplay", "-d", directory, "-l"], capture_output=True,
                                 check=False)
        text += mask(listing.stdout + listing.stderr)
    return text


def observe(case, table, syslog, state, extra=""):
    """Runs the case once; returns {channel: text}."""
    clear()
    shutil.copytree(f"{STATES}/{state}/pam.d", "/etc/pam.d", dirs_exist_ok=True)
    with open(f"{STATES}/{state}/sudo.conf", encoding="utf-8") as file:
        conf = file.read()
    shutil.copy("/usr/local/lib/nsswitch.plain", "/etc/nsswitch.conf")
    write(SUDO_CONF, table.text("conf", case) + conf)
    write(CASE_RULES, table.text("rules", case) + extra, 0o440)
    if "before" in case.options:
        subprocess.run(["sh", "-c", case.options["before"]], check=True)
    syslog.read()
    syslog.lines.clear()
    stdin = case.options.get("input", "")
    result = drive.run(
        ["/bin/sh", "-c", case.command], user=case.user, tty=case.tty, syslog=syslog,
        stdin=drive.unescape(stdin), cwd=case.options.get("cwd"),
        env=dict(e.split("=", 1) for e in case.lists["env"]), reactions=reactions(case),
        timeout=float(case.options.get("timeout", 20)))
    seen = {
        "stdout": mask(result.stdout), "stderr": mask(result.stderr), "status": result.status,
        "syslog": "\n".join(sorted(map(mask, syslog.lines), key=program)),
        "iolog": store(IO_LOG), "server": store(SERVER_LOG),
        "tickets": "\n".join(sorted(glob.glob("/run/sudo/ts/*") + glob.glob("/var/lib/sudo/*/*"))),
    }
    for path in case.lists["file"]:
        try:
            with open(path, "rb") as file:
                seen[path] = mask(file.read()) + f"{os.stat(path).st_mode:o}"
        except OSError as error:
            seen[path] = str(error)
    return seen


def own_line(case, seen):
    """Takes out the one line of -V that is ours to say; it must be there."""
    if "own" not in case.options:
        return seen
    regex = re.compile(case.options["own"])
    lines = seen["stdout"].splitlines(True)
    ours = [line for line in lines if regex.fullmatch(line.rstrip("\r\n"))]
    if len(ours) != 1:
        return dict(seen, stdout=seen["stdout"] + f"(own line seen {len(ours)} times)\n")
    lines.remove(ours[0])
    return dict(seen, stdout="".join(lines))


def differences(plain, other):
    text = []
    for channel in plain:
        if plain[channel] != other[channel]:
            text += difflib.unified_diff(
                plain[channel].splitlines(), other[channel].splitlines(),
                f"{channel} plain", f"{channel} with the plugin", lineterm="", n=1)
    return text


def report(number, good, name, text=()):
    print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
    for line in () if good else text:
        print("#   " + line.encode("utf-8", "backslashreplace").decode())


def compare(table, cases, syslog, state):
    failed = 0
    for number, case in enumerate(cases, 1):
        plain = observe(case, table, syslog, "plain")
        other = observe(case, table, syslog, state)
        text = differences(plain, other if state == "plain" else own_line(case, other))
        if plain["status"].startswith("timeout") or "still held" in plain["status"]:
            text.append(f"plain sudo did not end: {plain['status']}")
        if os.environ.get("SHOW"):
            print("\n".join(f"  {k}: {v}" for k, v in plain.items() if v))
        failed += bool(text)
        report(number, not text, f"passthrough {case.name}", text)
    return failed


def mutate(table, syslog):
    """Each mutant is a change of sudo's rules that must be seen in the channel that it names."""
    failed = 0
    cases = {case.name: case for case in table.cases}
    for number, (name, channel, extra) in enumerate(table.mutants, 1):
        case = cases[name]
        plain = observe(case, table, syslog, "plain")
        other = observe(case, table, syslog, "plain", extra + "\n")
        good = plain[channel] != other[channel]
        failed += not good
        report(number, good, f"mutant of {name} is seen in {channel}", ["no difference seen"])
    return failed


def main():
    table, mode, names = Table(sys.argv[1]), sys.argv[2], sys.argv[3:]
    cases = [c for c in table.cases if not names or c.name in names]
    syslog = drive.Syslog()
    if mode == "--mutants":
        failed = mutate(table, syslog)
        count = len(table.mutants)
    else:
        failed = compare(table, cases, syslog, "plain" if mode == "--plain" else "plugin")
        count = len(cases)
    print(f"1..{count}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
