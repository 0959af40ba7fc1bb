#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""kill.py: SIGKILL at points spread over every call that changes the file system, while a backup is made,
while one is restored, while the store is pruned; ENOSPC likewise.  Speaks TAP (20-kill.sh, 30-nospace.sh).

Environment: BASE (work directory), B (build), POINTS, WHAT (kill or nospace)."""
import os, random, shutil, subprocess, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reader, tree

base, build, points = os.environ['BASE'], os.environ['B'], int(os.environ.get('POINTS', '200'))
what = os.environ['WHAT']
store, work = base + '/backups/user', base + '/work'
uid = gid = 47111
here = os.path.dirname(os.path.abspath(__file__))
user = ['setpriv', '--reuid', str(uid), '--regid', str(gid), '--clear-groups', '--']
rng = random.Random(7)
count = failed = serial = 0

def report(name, problems):
    global count, failed
    count += 1
    failed += bool(problems)
    print(('not ok' if problems else 'ok'), count, '-', name)
    for problem in problems[:10]:
        print('#  ', problem)
    sys.stdout.flush()

def run(command, **fault):
    env = dict(os.environ, LC_ALL='C', **{k: str(v) for k, v in fault.items()})
    if fault:
        env['LD_PRELOAD'] = build + '/backup/fault.so'
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

def new_id():
    global serial
    serial += 1
    return '20261130T%06dZ-%012x' % (serial, serial)

def make(backup, **fault):
    return run([build + '/backup/driver', 'make', store, backup, str(uid), str(gid), project], **fault)

def cell(*arguments, **fault):
    command, *rest = arguments
    return run(user + [build + '/bin/agentcell', command, '--store', store] + rest, **fault)

def finish(backup, cause=1, keep=99):
    return run([build + '/backup/driver', 'finish', store, backup, str(uid), str(gid), str(cause), str(keep), '0', '0'])

def manifests():
    return sorted(n[:-9] for n in os.listdir(store) if n.endswith('.manifest'))

def read(backup):
    return sorted(reader.listing(store, backup), key=lambda line: line[0])

def see(path):
    return sorted(tree.listing(os.fsencode(path)), key=lambda line: line[0])

def plain(lines): # without inode numbers: a copy has others
    groups = {}
    for line in lines:
        if line[10]:
            groups.setdefault(line[10], line[0])
    return [line[:10] + (groups.get(line[10]),) for line in lines]

def calls(command_with_fault):
    path = work + '/calls'
    result = command_with_fault(FAULT_REPORT=path)
    assert result.returncode == 0, result.stdout
    with open(path) as f:
        return [int(n) for n in f.read().split()]

def spread(total, number):
    """Each point once when there are few; else the first and last ones and random ones between."""
    if total <= number:
        return range(1, total + 1)
    return sorted(set(list(range(1, number // 5)) + list(range(total - number // 5, total + 1)) +
                      rng.sample(range(1, total + 1), number - 2 * (number // 5))))

def faults(total, number):
    if what == 'kill':
        return [dict(FAULT_KILL_AT=n) for n in spread(total, number)]
    # A disk that stays full from some call on; one that is full at every 50th, in one run and one a run.
    step = 50 if total >= 400 else max(1, total // 8)
    return [dict(FAULT_NOSPACE_AT=n) for n in spread(total, number)] + [dict(FAULT_NOSPACE_EVERY=step)] + \
        [dict(FAULT_NOSPACE_ONLY=n) for n in range(step, total + 1, step)]

os.makedirs(work, exist_ok=True)
os.chown(work, uid, gid)
project = work + '/p'
subprocess.run(user + ['/usr/bin/python3', here + '/torture.py', project, '300', '12'], check=True)
subprocess.run(['rm', '-rf', project + '/holes'])
subprocess.run(user + ['/usr/bin/python3', '-c', '''
import os,sys
for i in range(4):
    os.makedirs(sys.argv[1] + "/whole/%d/deep" % i)
    for n in range(8):
        open(sys.argv[1] + "/whole/%d/deep/%d" % (i, n), "wb").write(os.urandom(5000))''', project], check=True)
pristine = see(project)
first = new_id()
assert make(first).returncode == 0
assert finish(first).returncode == 0
subprocess.run(user + ['/usr/bin/python3', '-c', '''
import os,sys
os.chdir(sys.argv[1])
for i in range(60):
    open("more%d" % i, "wb").write(os.urandom(70000))
os.truncate("sizes/random4096", 5)''', project], check=True)
present = see(project)

# --- Making.
problems, visible, interrupted = [], {first: plain(pristine)}, 0
total = calls(lambda **f: make(new_id(), **f))[0 if what == 'kill' else 1]
print('# %d calls to fail at' % total)
done = manifests()[-1]
visible[done] = plain(present)
finish(done)
def forget_last(): # so that each try has to write content
    run(user + [build + '/bin/agentcell', 'backups', '--store', store, '--remove', done])
forget_last()
del visible[done]
for fault in faults(total, points):
    backup = new_id()
    result = make(backup, **fault)
    ok = result.returncode == 0
    interrupted += not ok
    if ok or backup in manifests(): # killed after it became visible is a backup
        visible[backup] = plain(present)
        if backup not in manifests():
            problems.append('%s: success without a backup' % fault)
    elif what == 'nospace' and b'No space left' not in result.stdout:
        problems.append('%s: %s' % (fault, result.stdout))
    for name in manifests():
        if name not in visible:
            problems.append('%s: %s is visible' % (fault, name))
    if backup in visible:
        if plain(read(backup)) != visible[backup]:
            problems.append('%s: %s is not what was there' % (fault, backup))
        finish(backup)
        done = backup
        forget_last()
        del visible[done]
report('%s at %d points of making a backup: none is wrong or half' % (what, interrupted), problems)
report('many of them interrupted it', [] if interrupted > points // 10 else ['%d' % interrupted])
report('the backup before them is whole', [] if plain(read(first)) == visible[first] else ['it is not'])
last = new_id()
result = make(last)
report('the next one succeeds', [] if result.returncode == 0 else [result.stdout])
report('and is right', [] if plain(read(last)) == plain(present) else ['it is not'])
finish(last)
make(new_id())
finish(manifests()[-1])
left = [n for n in os.listdir(store) if n.startswith('tmp-')]
used = set(os.listdir(store))
report('no garbage is left', left)
report('verify finds all whole', [] if cell('backups', '--verify', 'all').returncode == 0 else ['it does not'])

# --- Restoring.
subprocess.run(user + ['/usr/bin/python3', here + '/damage.py', project, '8'], check=False,
               stderr=subprocess.DEVNULL)
subprocess.run(['rm', '-r', project + '/whole'], check=True)
damaged = see(project)
contents = {line[0]: {line[:9]} for line in plain(damaged)}
for line in plain(pristine):
    contents.setdefault(line[0], set()).add(line[:9])
# Directories that are gone: what they held comes back with them or not at all.
kept = {line[0] for line in damaged if line[1] == 'd'}
lost = {line[0]: {other[0] for other in pristine if other[0].startswith(line[0] + b'/')}
        for line in pristine if line[1] == 'd' and line[0] not in kept}
away = work + '/damaged'
subprocess.run(['cp', '-a', project, away], check=True)
def again():
    subprocess.run(['rm', '-rf', project])
    subprocess.run(['cp', '-a', away, project])
report('the damage is real', [] if plain(damaged) != plain(pristine) else ['it is not'])
total = calls(lambda **f: cell('restore', first, **f))[0 if what == 'kill' else 1]
print('# %d calls to fail at' % total)
report('restore', [] if plain(see(project)) == plain(pristine) else ['wrong'])
problems, interrupted = [], 0
for fault in faults(total, points):
    again()
    result = cell('restore', first, **fault)
    interrupted += result.returncode != 0
    there = {line[0]: line[1] for line in see(project)}
    for name, held in lost.items():
        if there.get(name) == 'd' and not held <= there.keys():
            problems.append('%s: %r is there without all that was in it' % (fault, name))
    for line in plain(see(project)):
        half = line[1] == 'f' and b'/.agentcell-restore-' not in line[0] and \
            not any(line[1] == known[1] and line[6:8] == known[6:8] for known in contents.get(line[0], ()))
        if half:
            problems.append('%s: %r is neither old nor new' % (fault, line[0]))
    result = cell('restore', first)
    if result.returncode:
        problems.append('%s: %r' % (fault, result.stdout))
    elif plain(see(project)) != plain(pristine):
        problems.append('%s: run again, it does not complete' % fault)
    for name in manifests():
        if name not in (first, last):
            run(user + [build + '/bin/agentcell', 'backups', '--store', store, '--remove', name])
report('directories were lost', [] if any(len(held) > 1 for held in lost.values()) else ['none'])
report('%s at %d points of a restore: no half file or directory, and the next run completes it' % (what, interrupted), problems)
report('many of them interrupted it', [] if interrupted > points // 10 else ['%d' % interrupted])

# --- Pruning.
if what == 'kill':
    problems, interrupted = [], 0
    for n in range(1, points // 4):
        extra = new_id()
        subprocess.run(user + ['/usr/bin/python3', '-c',
                               'import os,sys; open(sys.argv[1] + "/fresh", "wb").write(os.urandom(300000))', project])
        assert make(extra).returncode == 0
        finish(extra)
        result = cell('backups', '--remove', extra, FAULT_KILL_AT=n)
        interrupted += result.returncode != 0
        for name in manifests():
            try:
                read(name)
            except (AssertionError, KeyError) as e:
                problems.append('%d: %s: %r' % (n, name, e))
        if cell('backups', '--verify', 'all').returncode:
            problems.append('%d: verify' % n)
        if extra in manifests():
            cell('backups', '--remove', extra)
    report('killed at %d points of pruning: what is listed is whole' % interrupted, problems)
print('1..%d' % count)
sys.exit(bool(failed))
