# SPDX-License-Identifier: ISC
"""sudo.py RUNS: `sudo -n true` as ana with /run/plain.conf and /run/plugin.conf in turn; medians."""

import os
import pwd
import resource
import shutil
import statistics
import subprocess
import sys
import time

CONF = "/etc/sudo.conf"


def once(which, ana):
    """(wall, CPU) seconds of one sudo."""
    shutil.copy(f"/run/{which}.conf", CONF + ".new")
    os.replace(CONF + ".new", CONF)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(["sudo", "-n", "true"], check=True, user=ana.pw_uid, group=ana.pw_gid,
                   extra_groups=[], env={"PATH": "/usr/bin"}, cwd="/")
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    ana, runs = pwd.getpwnam("ana"), int(sys.argv[1])
    seen = {"plain": [], "plugin": []}
    for run in range(runs + 3):  # the first three warm up
        for which in ("plain", "plugin") if run % 2 else ("plugin", "plain"):
            result = once(which, ana)
            if run >= 3:
                seen[which].append(result)
    for at, what in enumerate(("wall", "CPU")):
        plain, plugin = (statistics.median(r[at] for r in seen[w]) for w in ("plain", "plugin"))
        print(f"sudo -n true, {what}: plain {plain * 1000:.1f} ms, with the plugin "
              f"{plugin * 1000:.1f} ms, ratio {plugin / plain:.3f}" if plain else what)


main()
