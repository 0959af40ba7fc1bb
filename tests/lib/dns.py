#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""dns.py ADDRESS ZONE LOG: a DNS server over UDP for tests.

ZONE is read at each question; its lines are "name ttl address...", or "name fail" (SERVFAIL); other
names do not exist.  LOG gets "name type" of each question.
"""
import socket
import struct
import sys

A, AAAA = 1, 28
SERVFAIL, NXDOMAIN = 2, 3


def read_zone(path):
    zone = {}
    for line in open(path, encoding="ascii"):
        words = line.split()
        if words:
            zone[words[0]] = words[1:]
    return zone


def name_of(question):
    labels, at = [], 0
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode())
        at += 1 + question[at]
    return ".".join(labels).lower(), at + 1


def records(words, kind):
    ttl, family = int(words[0]), socket.AF_INET6 if kind == AAAA else socket.AF_INET
    for address in words[1:]:
        if (":" in address) == (kind == AAAA):
            data = socket.inet_pton(family, address)
            yield struct.pack("!HHHIH", 0xC00C, kind, 1, ttl, len(data)) + data


def answer(message, zone, log):
    name, end = name_of(message[12:])
    kind = struct.unpack("!H", message[12 + end : 14 + end])[0]
    log.write(f"{name} {kind}\n")
    log.flush()
    words = zone.get(name)
    found, code = [], 0
    if words is None:
        code = NXDOMAIN
    elif words[0] == "fail":
        code = SERVFAIL
    elif kind in (A, AAAA):
        found = list(records(words, kind))
    head = message[:2] + struct.pack("!HHHHH", 0x8580 | code, 1, len(found), 0, 0)
    return head + message[12 : 16 + end] + b"".join(found)


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
with open(sys.argv[3], "a", encoding="ascii") as questions:
    print("ready", flush=True)
    while True:
        asked, sender = server.recvfrom(4096)
        server.sendto(answer(asked, read_zone(sys.argv[2]), questions), sender)
