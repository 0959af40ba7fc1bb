#!/bin/sh
# SPDX-License-Identifier: ISC
# What the cell costs the people who work in it: a developer's commands inside one running session against
# the same commands, in the same tree, as the same user outside; and each harness from the command line to
# its first request to the model.  Interleaved, medians in milliseconds; look at the ratios (goal: 1.02).
#     harness.sh [rounds]        FILES=20000 sizes the tree that git and rg walk
rounds=${1:-${ROUNDS:-11}}
export ROUNDS="$rounds"
harness_tests=$(dirname "$0")/../harness
if [ -z "${SANDBOX_WORK-}" ] && ! "$harness_tests/install.sh" check >/dev/null 2>&1; then
	echo 'harnesses: SKIP needs them from npm'
fi
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/cell.sh
. "$tree/tests/harness/cell.sh"
# shellcheck source=tests/harness/quiet.sh
. "$tree/tests/harness/quiet.sh"

# A tree like those that people have: many small files in git, C sources, packages from a lock file.
make_tree() { # directory
	make_project dev "$1"
	/usr/bin/python3 - "$1" "${FILES:-20000}" <<-'END'
		import os, sys
		top, number = sys.argv[1], int(sys.argv[2])
		for i in range(number):
		    directory = f"{top}/data/d{i // 200}"
		    if i % 200 == 0:
		        os.makedirs(directory)
		    with open(f"{directory}/f{i}.txt", "w") as file:
		        file.write(f"line {i}\n" * 20)
		os.makedirs(f"{top}/c")
		for i in range(40):
		    with open(f"{top}/c/f{i}.c", "w") as file:
		        file.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
		        file.writelines(f"int f{i}_{k}(int x) {{ return x * {k} + (int)strlen(\"{k}\"); }}\n" for k in range(200))
		with open(f"{top}/c/Makefile", "w") as file:
		    file.write("all: $(patsubst %.c,%.o,$(wildcard *.c))\nclean:\n\trm -f *.o\n")
	END
	mkdir "$1/vendor"
	for dependency in "$harness_root"/mcp/node_modules/*/package.json; do
		dependency=${dependency%/package.json}
		grep -q '"dependencies"' "$dependency/package.json" || (cd "$1/vendor" && npm pack --silent "$dependency" >/dev/null 2>&1)
	done
	node -e '
		const fs = require("fs"), directory = process.argv[1]
		const text = JSON.parse(fs.readFileSync(`${directory}/package.json`))
		text.dependencies = {}
		for (const file of fs.readdirSync(`${directory}/vendor`))
			text.dependencies[file.replace(/-\d.*/, "")] = `file:vendor/${file}`
		fs.writeFileSync(`${directory}/package.json`, JSON.stringify(text, null, 2))' "$1"
	(cd "$1" && npm install --offline --silent --package-lock-only --no-audit >/dev/null 2>&1)
	printf 'node_modules/\n*.o\n' >"$1/.gitignore"
	chown -R dev: "$1"
	as dev sh -c "cd '$1' && git add . && git -c user.name=t -c user.email=t@localhost commit -q -m all"
}

as_bench() {
	setpriv --reuid dev --regid dev --init-groups env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/dev USER=dev \
		LOGNAME=dev LANG=C.UTF-8 TERM=xterm "$@"
}

first_request() { # log
	sed -n 's/^{"ms":\([0-9]*\),"api".*/\1/p' "$1" | head -1
}

once() { # harness inside|outside: milliseconds to the first request
	project=/home/dev/$1-$2
	rm -f "$project/hello.txt" "/run/$1.log"
	mock_start /run/steps.json "$project" "/run/$1.log"
	started=$(milliseconds)
	if [ "$2" = inside ]; then
		cell_run "$1" "$project"
	else
		quiet_run "$1" "/home/alice-$1" "$project" >/dev/null 2>&1 </dev/null
	fi
	mock_stop
	echo $(($(first_request "/run/$1.log") - started))
}

harnesses() {
	echo '--- harnesses, from the command line to the first request'
	sandbox_user alice
	echo '[]' >/run/steps.json
	for harness in claude codex opencode; do
		make_project dev "/home/dev/$harness-inside"
		make_project alice "/home/alice/$harness-outside"
		mkdir -p "/home/dev/$harness-outside" && mount --bind "/home/alice/$harness-outside" "/home/dev/$harness-outside"
		install -d -o alice -m 700 "/home/alice-$harness"
	done
	chmod 0711 /home/dev
	for harness in claude codex opencode; do
		: >/run/numbers
		for _ in $(seq "$rounds"); do
			echo "outside $(once "$harness" outside)" >>/run/numbers
			echo "inside $(once "$harness" inside)" >>/run/numbers
		done
		/usr/bin/python3 - "$harness" <<-'END'
			import statistics, sys
			numbers = {"inside": [], "outside": []}
			for line in open("/run/numbers"):
			    side, value = line.split()
			    numbers[side].append(int(value))
			inside, outside = (statistics.median(numbers[side]) for side in ("inside", "outside"))
			print(f"{sys.argv[1]:28s} outside {outside:8.0f}  inside {inside:8.0f}  ratio {inside / outside:5.2f}"
			      f"  difference {inside - outside:6.0f}")
		END
	done
}

# Both sides take turns: the one outside leads, the one inside does what it finds in a file.
write_turns() {
	cat >"$1/.git/turns.py" <<-'END'
		import json, os, statistics, subprocess, sys, time
		COMMANDS = [("git status", "git status --short"), ("rg over the tree", "rg -c 'line 1999' data"),
		            ("npm ci", "npm ci --offline --silent --no-audit"), ("C build", "make -s -C c clean all"),
		            ("find and wc", "find data -name '*.txt' | wc -l"), ("node --test", "node --test test"),
		            ("200 times exec", "for i in $(seq 200); do /usr/bin/true; done")]
		ASK, ANSWER = ".git/turn.ask", ".git/turn.answer"
		def run(command):
		    started = time.monotonic_ns()
		    status = subprocess.run(["/bin/sh", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
		    return status, (time.monotonic_ns() - started) / 1e6
		def put(path, value):
		    with open(path + ".new", "w") as file:
		        json.dump(value, file)
		    os.rename(path + ".new", path)
		def take(path):
		    until = time.monotonic() + 120
		    while not os.path.exists(path):
		        if time.monotonic() > until:
		            sys.exit("the other side is gone")
		        time.sleep(0.005)
		    with open(path) as file:
		        value = json.load(file)
		    os.unlink(path)
		    return value
		def lead(rounds):
		    failed = False
		    for name, command in COMMANDS:
		        times = {"outside": [], "inside": []}
		        for i in range(rounds + 1):
		            status, outside = run(command)
		            put(ASK, command)
		            inside_status, inside = take(ANSWER)
		            if status or inside_status:
		                print(f"{name}: exit status {status} outside, {inside_status} inside")
		                failed = True
		            if i:  # the first round warms the caches
		                times["outside"].append(outside)
		                times["inside"].append(inside)
		        outside, inside = statistics.median(times["outside"]), statistics.median(times["inside"])
		        print(f"{name:28s} outside {outside:8.1f}  inside {inside:8.1f}  ratio {inside / outside:5.2f}", flush=True)
		    put(ASK, None)
		    return failed
		def follow():
		    while True:
		        command = take(ASK)
		        if command is None:
		            return
		        put(ANSWER, run(command))
		sys.exit(lead(int(sys.argv[2])) if sys.argv[1] == "outside" else follow())
	END
	chown dev: "$1/.git/turns.py"
}

cell_setup || {
	echo 'harnesses: SKIP needs tests/harness/00-packages.sh to have run'
	exit 0
}
make_tree /home/dev/bench
write_turns /home/dev/bench
(cd /home/dev/bench && as_bench sudo -n -u agentcell-worker /usr/bin/python3 .git/turns.py inside) >/run/inside.out 2>&1 8>&- &
inside=$!
echo "--- a developer's commands: one session, and outside"
(cd /home/dev/bench && as_bench /usr/bin/python3 .git/turns.py outside "$rounds") || cat /run/inside.out
wait "$inside"
harnesses
