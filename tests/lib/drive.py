# SPDX-License-Identifier: ISC
"""Runs one command as some user, on a pseudo-terminal or on pipes, and reports what it did.

A script of reactions plays the person: (regular expression, action) pairs, taken in order; when
the output since the last match fits, the action is done: bytes are typed, or a signal is sent to
the command.  Used by passthrough.py and, as a program, by the shell tests:

    drive.py [--user U] [--tty] [--on REGEX=VALUE]... -- command...
"""

import argparse
import fcntl
import grp
import os
import pwd
import re
import selectors
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


class Result:
    """Output as bytes; status as text: 'exit 3', 'signal 15', 'timeout'."""

    def __init__(self):
        self.stdout = b""
        self.stderr = b""
        self.both = b""
        self.status = "timeout"


class Syslog:
    """/dev/log: keeps every datagram that arrives."""

    def __init__(self, path="/dev/log"):
        if os.path.lexists(path):
            os.unlink(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(path)
        os.chmod(path, 0o666)
        self.lines = []

    def read(self):
        while True:
            try:
                self.lines.append(self.socket.recv(65536).rstrip(b"\0\n"))
            except BlockingIOError:
                return


def identity(name):
    """Popen's arguments and the environment of a fresh login."""
    user = pwd.getpwnam(name)
    groups = [g.gr_gid for g in grp.getgrall() if name in g.gr_mem]
    env = {"PATH": PATH, "HOME": user.pw_dir, "USER": name, "LOGNAME": name,
           "SHELL": user.pw_shell, "LANG": "C", "TERM": "dumb"}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": groups}, env, user.pw_dir


def open_terminal(uid, size):
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[0], size[1], 0, 0))
    os.fchown(slave, uid, 5)
    os.fchmod(slave, 0o620)
    return master, slave


def start(argv, who, env, cwd, tty, stdin, size):
    """Starts the command; returns (process, {fd: stream name}, fd to type into or None)."""
    common = dict(env=env, cwd=cwd, start_new_session=True, umask=0o022, close_fds=True, **who)
    if tty:
        master, slave = open_terminal(who["user"], size)
        child = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave,
                                 preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **common)
        os.close(slave)
        return child, {master: "stdout"}, master
    source = subprocess.PIPE if isinstance(stdin, bytes) else stdin
    child = subprocess.Popen(argv, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             **common)
    if child.stdin:
        if stdin:
            child.stdin.write(stdin)
        child.stdin.close()
    return child, {child.stdout.fileno(): "stdout", child.stderr.fileno(): "stderr"}, None


def act(child, typing, action):
    time.sleep(0.03)  # a person is slower: what printed the text now waits for the answer
    if isinstance(action, bytes):
        os.write(typing, action)
    elif isinstance(action, tuple):  # terminal size
        fcntl.ioctl(typing, termios.TIOCSWINSZ, struct.pack("HHHH", action[0], action[1], 0, 0))
    elif action is None:  # hang up
        os.close(typing)
    else:
        child.send_signal(action)


def read_chunk(fd):
    try:
        return os.read(fd, 65536)
    except OSError:  # EIO: the last slave end of the terminal was closed
        return b""


def run(argv, user="root", tty=False, stdin=b"", env=None, cwd=None, reactions=(), timeout=20,
        syslog=None, size=(24, 80), echo=False):
    """Runs argv to its end and until nobody holds its output any more."""
    who, base, home = identity(user)
    base.update(env or {})
    child, streams, typing = start(argv, who, base, cwd or home, tty, stdin, size)
    result, todo, seen, hung_up = Result(), list(reactions), 0, False
    watch = selectors.DefaultSelector()
    for fd in streams:
        watch.register(fd, selectors.EVENT_READ)
    if syslog:
        watch.register(syslog.socket, selectors.EVENT_READ)
    deadline = time.monotonic() + timeout
    while streams and time.monotonic() < deadline:
        for key, _ in watch.select(0.2):
            if syslog and key.fileobj is syslog.socket:
                syslog.read()
                continue
            data = read_chunk(key.fd)
            if not data:
                watch.unregister(key.fd)
                del streams[key.fd]
                continue
            setattr(result, streams[key.fd], getattr(result, streams[key.fd]) + data)
            result.both += data
            if echo:
                os.write(1, data)
        while todo:
            match = re.compile(todo[0][0]).search(result.both, seen)
            if not match:
                break
            seen = len(result.both)
            action = todo.pop(0)[1]
            if action is None:
                hung_up = True
                watch.unregister(typing)
                streams.pop(typing, None)
            act(child, typing, action)
    try:
        status = child.wait(max(0.1, deadline - time.monotonic()) if not streams else 0.1)
        result.status = f"signal {-status}" if status < 0 else f"exit {status}"
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if streams:
        result.status += " and output still held" if result.status != "timeout" else ""
    if tty and not hung_up:
        os.close(typing)
    if syslog:
        syslog.read()
    return result


def unescape(text):
    """^C and \\n as a person would write them."""
    text = re.sub(r"\^([@-_])", lambda m: chr(ord(m.group(1)) ^ 64), text)
    return text.encode().decode("unicode_escape").encode("latin-1")


def reaction(text):
    """REGEX=VALUE: what is typed (^C, \\n), SIGNAME, ROWSxCOLS for a new size, or HANGUP."""
    regex, _, value = text.rpartition("=")
    if value.startswith("SIG"):
        action = signal.Signals[value]
    elif value == "HANGUP":
        action = None
    elif re.fullmatch(r"\d+x\d+", value):
        action = tuple(int(n) for n in value.split("x"))
    else:
        action = unescape(value)
    return regex.encode(), action


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", default="root")
    parser.add_argument("--tty", action="store_true")
    parser.add_argument("--cwd")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--timeout", type=float, default=30)
    parser.add_argument("--on", action="append", default=[], type=reaction)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    result = run(args.command, user=args.user, tty=args.tty, cwd=args.cwd, timeout=args.timeout,
                 env=dict(e.split("=", 1) for e in args.env), reactions=args.on)
    sys.stdout.buffer.write(result.stdout)
    sys.stderr.buffer.write(result.stderr)
    kind, _, number = result.status.partition(" ")
    print(f"drive: {result.status}", file=sys.stderr)
    sys.exit(int(number) if kind == "exit" and number.isdigit() else 99)


if __name__ == "__main__":
    main()
