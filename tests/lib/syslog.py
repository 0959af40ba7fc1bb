# SPDX-License-Identifier: ISC
"""syslog.py SOCKET FILE: appends every datagram that arrives at SOCKET to FILE, one a line."""

import os
import socket
import sys

listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
if os.path.lexists(sys.argv[1]):
    os.unlink(sys.argv[1])
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
with open(sys.argv[2], "ab", buffering=0) as file:
    while True:
        file.write(listener.recv(65536).rstrip(b"\0\n") + b"\n")
