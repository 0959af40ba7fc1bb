#!/bin/sh
# SPDX-License-Identifier: ISC
# A developer's day inside a session, at risk high, where any refused access would end it: C with make,
# node and its tests, npm from its cache, python with a virtual environment, git with branches, worktrees
# and garbage collection.  Nothing may be refused, and what comes out must be right.
. "$(dirname "$0")/../lib/session.sh"

project=/home/dev/project
printf '[user]\n\tname = dev\n\temail = dev@example.org\n' >/home/dev/.gitconfig

# build NAME TOOL SCRIPT
build() {
	command -v "$2" >/dev/null || {
		skip "$1" "needs $2"
		return
	}
	: >"$json_log"
	agent dev AGENTCELL_RISK=high sh -exc "$3
echo good" >/run/out 2>/run/err
	build_status=$?
	if [ "$build_status" = 0 ] && [ "$(tail -n 1 /run/out)" = good ]; then
		tap_pass "$1"
	else
		tap_fail "$1" "exit status $build_status
$(tail -n 20 /run/out; tail -n 20 /run/err)"
	fi
	refute '... nothing was refused' log_has event=denied
	check '... and it ended clean' log_has event=end cause=clean
}

mkdir $project/c $project/node $project/python
cat >$project/c/main.c <<-'END'
	#include <math.h>
	#include <stdio.h>
	int main(void) { printf("%.0f\n", sqrt(1764)); return 0; }
END
printf 'CFLAGS = -O2 -Wall -MMD\nmain: main.o\n\t$(CC) -o $@ $^ -lm\ncheck: main\n\ttest "$$(./main)" = 42\nclean:\n\trm -f main *.o *.d\n-include main.d\n' \
	>$project/c/Makefile
cat >$project/node/package.json <<-'END'
	{ "name": "demo", "version": "1.0.0", "private": true, "scripts": { "test": "node --test", "build": "node build.js" }, "dependencies": { "left": "file:../left-1.0.0.tgz" } }
END
cat >$project/node/test.js <<-'END'
	const test = require("node:test"), assert = require("node:assert"), http = require("node:http");
	const { Worker } = require("node:worker_threads"), { execFileSync } = require("node:child_process"), fs = require("node:fs");
	test("sum", () => assert.strictEqual(require("left")(41), 42));
	test("child", () => assert.match(execFileSync("git", ["--version"]).toString(), /git/));
	test("worker", (t, done) => new Worker("1", { eval: true }).on("exit", () => done()));
	test("loopback", (t, done) => { const s = http.createServer((q, r) => r.end("x")).listen(0, "127.0.0.1",
	  () => http.get({ port: s.address().port, host: "127.0.0.1" }, r => r.resume().on("end", () => { s.close(); done(); }))); });
	test("watch", () => { fs.watch(".").close(); });
END
echo 'require("fs").writeFileSync("out.txt", "built")' >$project/node/build.js
mkdir /run/left && echo '{ "name": "left", "version": "1.0.0" }' >/run/left/package.json && echo 'module.exports = x => x + 1' >/run/left/index.js
command -v npm >/dev/null && (cd /run/left && HOME=/run npm pack --silent --pack-destination "$project" >/dev/null 2>&1)
echo 'import unittest, sqlite3, ssl, asyncio, multiprocessing
class T(unittest.TestCase):
    def test_sum(self): self.assertEqual(sum([40, 2]), 42)
    def test_sqlite(self): sqlite3.connect("x.db").execute("create table if not exists t (a)")
    def test_asyncio(self): asyncio.run(asyncio.sleep(0))
    def test_pool(self):
        with multiprocessing.Pool(2) as pool: self.assertEqual(pool.map(abs, [-1, -2]), [1, 2])' >$project/python/test_demo.py
chown -R dev:dev $project

build 'C: make, check, change, make, clean' make 'cd c; make; make check; sleep 0.01; touch main.c; make check; gcc -g -fsanitize=undefined -o ubsan main.c -lm; ./ubsan; make clean; make -j4 check'
build 'a debugger and a tracer on its own processes' strace 'cd c; strace -f -o trace ./main >/dev/null; grep -q write trace; rm trace'
build 'node: a server, workers, watches, children' node 'cd node; ln -sfn ../left-src node_modules 2>/dev/null || true; rm -f node_modules; node -e "
require(\"fs\").mkdirSync(\"node_modules/left\", {recursive: true})"; tar xzf ../left-1.0.0.tgz -C node_modules/left --strip-components=1; node --test; node build.js; test "$(cat out.txt)" = built'
if command -v npm >/dev/null; then
	build 'npm: a lock file, a clean install from a local archive, scripts' npm 'cd node; rm -rf node_modules package-lock.json
		npm install --offline --no-audit --no-fund --loglevel=error; npm ci --offline --no-audit --no-fund --loglevel=error; npm test; npm run build'
else
	skip 'npm' 'needs npm'
fi
build 'python: a virtual environment, tests, bytecode' python3 'cd python; /usr/bin/python3 -m unittest -v; /usr/bin/python3 -m compileall -q .
	if /usr/bin/python3 -c "import ensurepip" 2>/dev/null; then /usr/bin/python3 -m venv venv; else /usr/bin/python3 -m venv --without-pip venv; fi
	. venv/bin/activate; python -m unittest; test "$(python -c "import sys; print(sys.prefix)")" = "$PWD/venv"'
build 'git: commit, branch, merge, rebase, stash, tag, gc, worktree, clone' git 'mkdir -p repo; cd repo; git init -q -b main; echo 1 >a; git add a; git commit -qm 1
	git checkout -q -b topic; echo 2 >>a; git commit -qam 2; git checkout -q main; echo x >b; git add b; git commit -qm 3; git merge -q --no-edit topic
	git checkout -q -b other HEAD~1; echo y >c; git add c; git commit -qm 4; git rebase -q main; git checkout -q main; git stash -q || true; git tag v1
	git gc -q; git fsck --no-progress; git worktree add -q ../wt; cd ../wt; echo z >d; git add d; git commit -qm 5; cd ../repo; git worktree remove ../wt
	git clone -q . ../clone; git -C ../clone log --oneline >/dev/null; git bisect start -q HEAD HEAD~2 >/dev/null 2>&1 || true; git bisect reset -q >/dev/null 2>&1 || true'
build 'tools: find, tar, rsync-like copies, patch, xargs, editors' tar 'find . -name "*.c" | xargs grep -l main >/dev/null; tar cf x.tar c; mkdir -p y; tar xf x.tar -C y; cp -a c z
	diff -r c z; diff -u c/main.c python/test_demo.py >d.patch || true; sed -i s/42/42/ c/Makefile; sort c/Makefile | uniq -c >/dev/null; file c/main.c 2>/dev/null || true; rm -rf y z x.tar d.patch'
equal 'all of it is hers' "$(find $project ! -user dev | head)" ''
nothing_left builds
finish
