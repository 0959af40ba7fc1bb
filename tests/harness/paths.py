#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""What a traced program touched, compared with the silent list.

    paths.py --silent silent.conf --home HOME --cwd PROJECT [--port N] trace...

A trace is of `strace -f -y`.  Looks (stat, access, readlink, O_PATH) never count.  Every other access
must lie in the project, in the home, in scratch, in the read-only system (reads), or on the silent
list; what does not is printed, one a line, and the exit status is 1.  The number of accesses that were
judged goes to standard error.
"""

import argparse
import os
import re
import sys

LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+|\?)(.*)$")
UNFINISHED = re.compile(r"^(\d+) +(.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
START = re.compile(r"^(?:AT_FDCWD|\d+)<((?:[^>\\]|\\.)*)>")
CALLS_OPEN = {"open", "openat", "openat2", "creat"}
CALLS_EXEC = {"execve", "execveat"}
CALLS_CHANGE = {"unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat", "symlink",
                "symlinkat", "mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "truncate", "chmod",
                "fchmodat", "chown", "lchown", "fchownat"}
CALLS_TWO = {"rename", "renameat", "renameat2", "link", "linkat"}


class Silent:
    """silent.conf: kind -> compiled patterns."""

    def __init__(self, path):
        self.kinds = {}
        with open(path, encoding="utf-8") as stream:
            for line in stream:
                match = re.match(r"^(\w+)\s+(\S+)\s+--\s", line)
                if match:
                    self.kinds.setdefault(match[1], []).append(self.compile(match[2]))

    @staticmethod
    def compile(pattern):
        text, tail = pattern, ""
        if text.endswith("/**"):
            text, tail = text[:-3], r"(?:/.*)?"
        parts = [re.escape(part).replace(r"\*", "[^/]*") for part in text.split("**")]
        return re.compile(".*".join(parts) + tail)

    def has(self, kind, path):
        return any(pattern.fullmatch(path) for pattern in self.kinds.get(kind, []))


class Judge:
    def __init__(self, silent, home, cwd):
        self.silent = silent
        self.home = home
        self.cwd = cwd

    def below_ancestor(self, path):
        """What is left of path below a directory above project or home; None: it is not."""
        for root in (self.cwd, self.home):
            above = os.path.dirname(root)
            while True:
                if path == above:
                    return ""
                prefix = above if above == "/" else above + "/"
                if path.startswith(prefix):
                    return path[len(prefix):]
                if above == "/":
                    break
                above = os.path.dirname(above)
        return None

    def is_fine(self, what, path, result):
        own = any(path == root or path.startswith(root + "/") for root in (self.home, self.cwd))
        if own or self.silent.has("private", path):
            return True
        if what == "connect":
            return self.silent.has("socket", path)
        # What does not exist makes no record, so nothing can be made of its name.
        if self.silent.has("except", path) and result != "ENOENT":
            return False
        rest = self.below_ancestor(path)
        if what != "write" and (self.silent.has("baseline", path) or rest == ""):
            return True
        return self.silent.has("silent", path) or (rest and self.silent.has("ancestor", rest))


def unescape(text):
    return text.encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")


def names(call, arguments, cwd):
    """Absolute paths of a call's names, through its directory descriptors."""
    found, rest = [], arguments
    if call in ("symlink", "symlinkat"):  # the first string is what the link says
        rest = rest[STRING.search(rest).end():].lstrip(", ")
    for _ in range(2 if call in CALLS_TWO else 1):
        start = START.match(rest)
        base = start[1] if start else cwd
        match = STRING.search(rest)
        if not match:
            break
        name = unescape(match[1])
        if name or not start:
            found.append(os.path.normpath(os.path.join(base, name)))
        rest = rest[match.end():].lstrip(", ")
    return found


def accesses(call, arguments, cwd):
    if call in CALLS_OPEN:
        if "O_PATH" in arguments:
            return
        what = "write" if call == "creat" or re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", arguments) else "read"
    elif call in CALLS_EXEC:
        what = "execute"
    elif call in CALLS_CHANGE:
        what = "write"
    elif call == "connect" and "AF_UNIX" in arguments:
        match = re.search(r'sun_path="((?:[^"\\]|\\.)*)"', arguments)
        if match:
            yield "connect", match[1]
        return
    elif call in ("connect", "sendto", "sendmsg") and re.search(r"AF_INET6?,", arguments):
        port = re.search(r"sin6?_port=htons\((\d+)\)", arguments)
        address = re.search(r'(?:inet_addr|inet_pton)\((?:AF_INET6, )?"([^"]*)"', arguments)
        if port and address:
            yield "network", f"{address[1]}:{port[1]}"
        return
    else:
        return
    for path in names(call, arguments, cwd):
        yield what, path


def whole_lines(stream):
    """Joins what strace split because another thread came in between."""
    pending = {}
    for line in stream:
        line = line.rstrip("\n")
        match = UNFINISHED.match(line)
        if match:
            pending[match[1]] = match[2]
            continue
        match = RESUMED.match(line)
        if match:
            yield f"{match[1]} {pending.pop(match[1], '')}{match[2]}"
        else:
            yield line


def judge_trace(path, judge, options, bad):
    count = 0
    with open(path, encoding="latin-1") as stream:
        for line in whole_lines(stream):
            match = LINE.match(line)
            if not match:
                continue
            for what, name in accesses(match[1], match[2], options.cwd):
                count += 1
                result = match[4].split()[0] if match[4].split() else "done"
                if what == "network":
                    fine = name.endswith(f":{options.port}") or (
                        name.startswith(("127.0.0.1:", "0.0.0.0:", "::1:")) and not name.endswith(":53"))
                else:
                    fine = judge.is_fine(what, name, result)
                if not fine:
                    bad.setdefault((what, name), result)
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--silent", required=True)
    parser.add_argument("--home", required=True)
    parser.add_argument("--cwd", required=True)
    parser.add_argument("--port", default="8787")
    parser.add_argument("traces", nargs="+")
    options = parser.parse_args()
    judge = Judge(Silent(options.silent), options.home, options.cwd)
    bad, count = {}, 0
    for trace in options.traces:
        count += judge_trace(trace, judge, options, bad)
    for (what, name), result in sorted(bad.items()):
        print(f"{what} {name} {result}")
    print(f"{count} accesses judged", file=sys.stderr)
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
