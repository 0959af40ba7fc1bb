# SPDX-License-Identifier: ISC
"""Does something to a listener's audit socket, from outside: `stream.py PID ACT`.

overrun  makes its receive buffer as small as it gets, and more records than that holds while the
         listener is stopped, for moments only: after three seconds its warden would kill
leave    takes it out of its group: it stays open, and nothing comes any more
filter   puts a filter before it that lets nothing pass
"""
import ctypes, os, signal, socket, struct, sys

SO_RCVBUFFORCE, SO_ATTACH_FILTER, SOL_NETLINK, DROP_MEMBERSHIP, PIDFD_GETFD = 33, 26, 270, 2, 438


AUDIT_USER, NLM_F_REQUEST = 1005, 1


def overrun(stream):
    stream.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1)
    kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)
    os.kill(pid, signal.SIGSTOP)
    try:
        for number in range(20):
            text = b"overrun %d\0" % number
            kernel.send(struct.pack("IHHII", 16 + len(text), AUDIT_USER, NLM_F_REQUEST, number, 0) + text)
    finally:
        os.kill(pid, signal.SIGCONT)


def leave(stream):
    stream.setsockopt(SOL_NETLINK, DROP_MEMBERSHIP, 1)


def filter_out(stream):
    program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0), 8) # return 0
    stream.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                      struct.pack("HxxxxxxP", 1, ctypes.addressof(program)))


acts = {"overrun": overrun, "leave": leave, "filter": filter_out}
pid, act = int(sys.argv[1]), acts[sys.argv[2]]
# Protocol 9 is auditing; the one that is in a group is the stream.
inodes = {line.split()[-1] for line in open("/proc/%d/net/netlink" % pid).readlines()[1:]
          if line.split()[1] == "9" and int(line.split()[3], 16)}
pidfd = os.pidfd_open(pid)
done = 0
for fd in os.listdir("/proc/%d/fd" % pid):
    try:
        target = os.readlink("/proc/%d/fd/%s" % (pid, fd))
    except FileNotFoundError: # a file that it had open for a moment
        continue
    if target not in ("socket:[%s]" % inode for inode in inodes):
        continue
    copy = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, pidfd, int(fd), 0)
    if copy < 0:
        sys.exit("pidfd_getfd: " + os.strerror(ctypes.get_errno()))
    act(socket.socket(fileno=copy))
    done += 1
if done != 1:
    sys.exit("%d sockets in an audit group, not one" % done)
