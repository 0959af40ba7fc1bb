#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""mapped.py FILE GO: dirties a shared mapping, waits until GO exists, and stores once more."""
import mmap, os, sys, time
with open(sys.argv[1], 'w+b') as f:
    f.write(b'A' * 4096)
    f.flush()
    os.fsync(f.fileno())
    m = mmap.mmap(f.fileno(), 4096)
    m[0:1] = b'B' # moves the ctime, and the page is dirty from now on
    open(sys.argv[1] + '.ready', 'w').close()
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.05)
    before = os.stat(sys.argv[1]).st_ctime_ns
    m[1:2] = b'C'
    print('ctime moved' if os.stat(sys.argv[1]).st_ctime_ns != before else 'ctime did not move')
