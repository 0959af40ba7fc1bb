#!/bin/sh
# SPDX-License-Identifier: ISC
# What a developer and her tools do all day, over and over: runs inside a session (see soak).  Says which
# command failed; ends after the given seconds.
#     developer.sh seconds mock-port

seconds=$1 port=$2
rounds=0 failures=0
until=$(($(date +%s) + seconds))
export GIT_AUTHOR_NAME=dev GIT_AUTHOR_EMAIL=dev@localhost GIT_COMMITTER_NAME=dev GIT_COMMITTER_EMAIL=dev@localhost

try() { # command: each must succeed
	if ! output=$(sh -ec "$1" 2>&1 </dev/null); then
		failures=$((failures + 1))
		echo "round $rounds failed: $1"
		echo "$output" | tail -5
	fi
}

round() {
	# git
	try 'date >>notes; git add notes; git commit -q -m "round"; git status --short; git log --oneline -3'
	try 'git checkout -q -b topic; echo x >>src/answer.js; git diff --stat; git commit -qam topic'
	try 'git checkout -q main; git merge -q topic; git reset -q --hard HEAD~1; git branch -qD topic'
	try 'git stash list; git gc -q --auto; git grep -n answer; git blame -s src/answer.js | head -2'
	try 'rm -rf /tmp/clone; git clone -q . /tmp/clone; git -C /tmp/clone log -1 --format=%h'
	# JavaScript
	try 'npm ci --offline --silent; ls node_modules | head -2; npm ls --depth=0 >/dev/null'
	try 'npm test --silent >/dev/null'
	try 'node -e "const h=require(\"http\").createServer((q,r)=>r.end(\"up\")).listen(0,\"127.0.0.1\",()=>fetch(\"http://127.0.0.1:\"+h.address().port).then(r=>r.text()).then(t=>{h.close();process.exit(t===\"up\"?0:1)}))"'
	try 'node -e "new (require(\"worker_threads\").Worker)(\"1\",{eval:true}); require(\"fs\").watch(\".\").close()"'
	# Python
	try '/usr/bin/python3 -m pytest -q python'
	try '/usr/bin/python3 -c "import multiprocessing as m; print(m.Pool(2).map(abs, range(9)))"'
	try '/usr/bin/python3 -c "import socket, ssl, sqlite3, platform, getpass; platform.platform(); getpass.getuser(); socket.getaddrinfo(\"localhost\", 80)"'
	# C
	try 'make -s -C c clean; make -s -j2 -C c; ./c/program | grep -q "sum 45"'
	# searching, packing
	try 'rg -n answer . >/dev/null; rg --files | wc -l; grep -rn answer src; find . -name "*.js" | wc -l'
	try 'tar czf /tmp/all.tgz .; mkdir -p /tmp/out; tar xzf /tmp/all.tgz -C /tmp/out; diff -r src /tmp/out/src; rm -rf /tmp/out'
	try 'sed -n 1p package.json; awk "{n++} END {print n}" src/*.js; sort notes | uniq -c | tail -1; cut -c1-3 notes | head -1'
	# looking around
	try 'id; whoami; uname -a; hostname; env | wc -l; which git node python3; ls -la / /home /usr/bin >/dev/null'
	try 'ps aux; top -b -n 1 | head -3; free; uptime; df -h . ; head -3 /proc/self/mountinfo; cat /proc/cpuinfo /proc/meminfo /proc/loadavg' # procps
	try 'cat /etc/os-release /etc/passwd /etc/hosts; perl -e "print +(getpwuid(\$<))[0]"; getconf _NPROCESSORS_ONLN; locale'
	try 'curl -sf http://127.0.0.1:'"$port"'/v1/models | grep -q mock-model'
	try 'mktemp -d; script -qc true /dev/null; xargs -n1 echo <notes | tail -1; openssl version; file src/answer.js || true'
	try '(setsid sleep 0.1 &) ; kill -0 $$; timeout 5 sleep 0.1; nice true; nohup true'
}

while [ "$(date +%s)" -lt "$until" ]; do
	rounds=$((rounds + 1))
	round
done
echo "$rounds rounds, $failures failures"
touch developer-done
sleep 3
[ "$failures" = 0 ]
