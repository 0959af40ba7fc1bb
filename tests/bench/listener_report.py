# SPDX-License-Identifier: ISC
"""The summary of one piece of tests/bench/listener.sh: `listener_report.py PIECE FILE`."""
import math, statistics, sys

piece, path = sys.argv[1:]
rows = [line.split() for line in open(path)]
print("%s (%d lines)" % (piece, len(rows)))


def percentile(values, share):
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


if piece.startswith("kill"):
    for column, name in enumerate(("act ms", "dead ms", "files")):
        values = [float(row[column]) for row in rows]
        if values:
            print("  %-8s" % name + "".join("  %s %8.2f" % (word, percentile(values, share)) for word, share in
                                            (("p50", .5), ("p90", .9), ("p99", .99), ("max", 1))))
elif piece.startswith("rate"):
    for seen, whole, tried in ((float(x) for x in row) for row in rows):
        print("  %6d of 36000 judged; tried in %6.0f ms, with start and end of the sessions %6.0f ms: %6.0f a second" %
              (seen, tried, whole, seen / whole * 1e3))
else:
    names = list(dict.fromkeys(row[1] for row in rows))
    for name in names:
        states = {state: [row for row in rows if row[0] == state and row[1] == name]
                  for state in ("off", "on", "one", "watched")}
        for column, word in ((2, "wall"), (3, "cpu")):
            if not all(states.values()):
                continue
            off, on, one, watched = (statistics.median(float(row[column]) for row in got) for got in states.values())
            if off:
                print("  %-8s %-4s off %8.1f  on %8.1f  one rule %8.1f  watched %8.1f"
                      "   watched/off %.3f  one/off %.3f  watched/one %.3f  (%d runs each)" %
                      (name, word, off, on, one, watched, watched / off, one / off, watched / one, len(states["off"])))
