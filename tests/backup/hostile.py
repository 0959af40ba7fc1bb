#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""hostile.py: a process of the user swaps files and directories of the project for symlinks, fifos and
other things while it is backed up and restored.  Nothing outside may be read or written.  TAP.

Outside are: a directory of root's (0700), one of another user that everybody may read, one that everybody
may write, one of the user's own.  Controls: a careless reader and a careless writer, in the same race,
must be caught by the same checks."""
import os, re, shutil, signal, subprocess, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reader, tree

base, build, rounds = os.environ['BASE'], os.environ['B'], int(os.environ.get('ROUNDS', '15'))
store, work = base + '/backups/user', base + '/work'
project, outside, pool = work + '/p', base + '/outside', work + '/pool'
uid = gid = 47111
user = ['setpriv', '--reuid', str(uid), '--regid', str(gid), '--clear-groups', '--']
count = failed = serial = 0
MARK = b'TOPSECRET-OUTSIDE-CONTENT'

def report(name, problems):
    global count, failed
    count += 1
    failed += bool(problems)
    print(('not ok' if problems else 'ok'), count, '-', name)
    for problem in problems[:10]:
        print('#  ', problem)
    sys.stdout.flush()

def as_user(*command):
    return subprocess.run(user + list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

def own(path, u=uid, mode=None):
    os.chown(path, u, u, follow_symlinks=False)
    if mode is not None:
        os.chmod(path, mode)

def put(path, content, u=uid, mode=0o644):
    with open(path, 'wb') as f:
        f.write(content)
    own(path, u, mode)

# Outside.
os.mkdir(outside)
for name, owner, mode in [('root', 0, 0o700), ('other', 47112, 0o755), ('everybody', 47112, 0o777), ('own', uid, 0o755)]:
    os.mkdir(outside + '/' + name)
    for i in range(20):
        put('%s/%s/f%d' % (outside, name, i), MARK + b' %d' % i, owner, 0o600 if name == 'root' else 0o666)
    own(outside + '/' + name, owner, mode)
os.chmod(outside, 0o755)

# The project, and beside it what its parts are exchanged with.
os.mkdir(project), os.mkdir(pool), own(project), own(pool)
pairs = []
for d in range(8):
    os.mkdir('%s/d%d' % (project, d))
    own('%s/d%d' % (project, d))
    for i in range(60):
        put('%s/d%d/f%d' % (project, d, i), b'inside %d %d ' % (d, i) * 200)
    target = ['root', 'other', 'everybody', 'own'][d % 4]
    os.symlink('%s/%s' % (outside, target), '%s/d%d' % (pool, d))
    pairs += ['%s/d%d' % (project, d), '%s/d%d' % (pool, d)]
for i in range(20):
    put('%s/f%d' % (project, i), b'inside ' * 1000)
    if i % 5 == 4:
        os.mkfifo('%s/f%d' % (pool, i)), own('%s/f%d' % (pool, i))
    else:
        os.symlink('%s/%s/f%d' % (outside, ['root', 'other', 'everybody', 'own'][i % 5], i), '%s/f%d' % (pool, i))
    pairs += ['%s/f%d' % (project, i), '%s/f%d' % (pool, i)]
for name in pairs:
    os.chown(name, uid, uid, follow_symlinks=False)
before_outside = sorted(tree.listing(os.fsencode(outside)))
inside = {hash_ for *_, hash_ in [(l[7],) for l in tree.listing(os.fsencode(project)) if l[1] == 'f']}

class Attack:
    def __enter__(self):
        half = len(pairs) // 4 * 2
        self.swappers = [subprocess.Popen(user + [build + '/backup/swapper'] + part)
                         for part in (pairs[:half], pairs[half:])]
        time.sleep(0.05)
    def __exit__(self, *_):
        for swapper in self.swappers:
            swapper.kill()
            swapper.wait()
        for a, b in zip(pairs[::2], pairs[1::2]): # all at home again
            if os.path.islink(a) or not (os.path.isdir(a) or os.path.isfile(a)):
                swap(a, b)

def swap(a, b):
    os.rename(a, a + '.x'), os.rename(b, a), os.rename(a + '.x', b)

def new_id():
    global serial
    serial += 1
    return '20261130T%06dZ-%012x' % (serial, serial)

def make(backup):
    return subprocess.run([build + '/backup/driver', 'make', store, backup, str(uid), str(gid), '-t', '-u', project],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

def finish(backup):
    """Nothing is pruned: the first one is what restore brings back, after however many rounds."""
    subprocess.run([build + '/backup/driver', 'finish', store, backup, str(uid), str(gid), '1', '9999', '0', '0'],
                   check=True)

def careless_read():
    """What many do: look, then open by name."""
    found = set()
    for root, dirs, files in os.walk(project):
        for name in files:
            path = os.path.join(root, name)
            try:
                if os.path.isfile(path) and not os.path.islink(path):
                    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 'rb') as f:
                        found.add(MARK in f.read())
            except OSError:
                pass
    return True in found

first = new_id()
result = make(first)
report('a backup in peace', [] if result.returncode == 0 else [result.stdout])
finish(first)

# --- Backup under attack.
problems, succeeded, links, leaked = [], 0, 0, 0
with Attack():
    for _ in range(rounds):
        backup = new_id()
        result = make(backup)
        if result.returncode:
            if os.path.exists('%s/%s.manifest' % (store, backup)):
                problems.append('a failed backup is visible')
            if b'ended without a result' in result.stdout:
                problems.append(result.stdout)
            continue
        succeeded += 1
        finish(backup)
        for line in reader.listing(store, backup):
            if line[1] == 'f' and line[7] not in inside:
                problems.append('%r has foreign content' % (line[0],))
            links += line[1] == 'l'
    end = time.time() + 20
    while not leaked and time.time() < end:
        leaked += careless_read()
report('%d backups under attack, %d complete: nothing from outside is in them' % (rounds, succeeded), problems)
report('they saw the swaps', [] if links else ['no symlink in any of them'])
report('and a careless reader is caught (%d times)' % leaked, [] if leaked else ['never: the attack does not work'])
everything = b''
for digest in (packs := reader.Packs(store)).rows:
    everything += packs.chunk(digest)
report('no pack holds a byte of it', [] if MARK not in everything and b'inside' in everything else ['found'])

# --- What denies its owner, read by the process that has a capability for it.  Exchanged with the same
# name of root's and of another user's; a closed directory, with one of root's that has a file of the
# user's in it.  All names are in directories of the user's, so that he may rename them.
closed, vault = project + '/closed', project + '/vault'
os.mkdir(closed), os.mkdir(vault)
shut_pairs = []
for i in range(40):
    put('%s/f%d' % (closed, i), b'inside, closed %d ' % i * 100, uid, 0)
    put('%s/x%d' % (vault, i), MARK + b' closed', (0, 47112)[i % 2], 0o600)
    shut_pairs += ['%s/f%d' % (closed, i), '%s/x%d' % (vault, i)]
for i in range(10):
    for where, owner in (('d', uid), ('r', (0, 47112)[i % 2])):
        os.mkdir('%s/%s%d' % (closed, where, i))
        put('%s/%s%d/own' % (closed, where, i), (MARK if where == 'r' else b'inside, deep') + b' in closed', uid, 0)
        os.chown('%s/%s%d' % (closed, where, i), owner, owner)
        os.chmod('%s/%s%d' % (closed, where, i), 0 if where == 'd' else 0o700)
    shut_pairs += ['%s/d%d' % (closed, i), '%s/r%d' % (closed, i)]
own(closed), own(vault)
inside |= {hash_ for *_, hash_ in [(l[7],) for l in tree.listing(os.fsencode(project))
                                   if l[1] == 'f' and l[3] == uid and b'/r' not in l[0]]}

def ctimes():
    return {name: os.lstat(name).st_ctime_ns for name in
            [os.path.join(d, n) for d, ds, fs in os.walk(closed) for n in ds + fs]}

def careless_owner():
    """Whose is it?  Then open it, by name and with the capability."""
    found = 0
    for name in shut_pairs[:80:2]:
        try:
            if os.lstat(name).st_uid == uid:
                with open(name, 'rb') as f:
                    found += MARK in f.read()
        except OSError:
            pass
    return found

before_closed = ctimes()
backup = new_id()
result = make(backup)
read = {l[0]: l[7] for l in reader.listing(store, backup) if l[1] == 'f'} if result.returncode == 0 else {}
report('what denies its owner is read in peace', [result.stdout] * (result.returncode != 0) +
       [name for name in ['%s/f%d' % (closed, i) for i in range(40)] + ['%s/d%d/own' % (closed, i) for i in range(10)]
        if read.get(os.fsencode(name)) not in inside])
report('and is not touched by it', [name for name, when in ctimes().items() if when != before_closed[name]])
finish(backup)
problems, succeeded, leaked, others = [], 0, 0, 0
pairs, first_pairs = shut_pairs, pairs
with Attack():
    for _ in range(rounds * 2):
        backup = new_id()
        result = make(backup)
        if result.returncode:
            if b'ended without a result' in result.stdout:
                problems.append(result.stdout)
            continue
        succeeded += 1
        for line in reader.listing(store, backup):
            if line[1] == 'f' and line[7] and line[7] not in inside:
                problems.append('%r has foreign content' % (line[0],))
            others += line[3] != uid and re.fullmatch(b'.*/closed/[df][0-9]+', line[0]) is not None
        finish(backup)
    end = time.time() + 20
    while not leaked and time.time() < end:
        leaked += careless_owner()
pairs = first_pairs
report('%d such backups under attack, %d complete: they hold nothing of root or another user' %
       (rounds * 2, succeeded), problems)
report('they met the swaps', [] if others and succeeded else ['no name of somebody else in %d' % succeeded])
report('and a careless owner of the capability is caught', [] if leaked else ['never: the attack does not work'])
everything = b''
for digest in (packs := reader.Packs(store)).rows:
    everything += packs.chunk(digest)
report('no pack holds a byte of it', [] if MARK not in everything and b'inside, deep' in everything else ['found'])
shutil.rmtree(closed), shutil.rmtree(vault)

# --- Restore under attack.
def spoil():
    for d in range(8):
        for i in range(60):
            put('%s/d%d/f%d' % (project, d, i), b'spoiled')
        put('%s/d%d/added' % (project, d), b'added')
    for i in range(20):
        put('%s/f%d' % (project, i), b'spoiled')

def careless_write():
    for root, dirs, files in os.walk(project):
        for name in files:
            path = os.path.join(root, name)
            try:
                if not os.path.islink(path):
                    fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
                    os.write(fd, b'careless')
                    os.close(fd)
            except OSError:
                pass

# The attack begins at a moment of its own, so that it meets the writing and not only the looking.
spoil()
started = time.time()
result = as_user(build + '/bin/agentcell', 'restore', '--store', store, first)
peaceful = time.time() - started
report('a restore in peace', [] if result.returncode == 0 else [result.stdout])
problems, outcomes, written = [], {}, 0
for round_ in range(rounds * 2):
    spoil()
    process = subprocess.Popen(user + [build + '/bin/agentcell', 'restore', '--store', store, first],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    time.sleep(peaceful * round_ / rounds / 2)
    with Attack():
        said = process.communicate()[0]
    outcomes[process.returncode] = outcomes.get(process.returncode, 0) + 1
    written += any(l[1] == 'f' and l[7] in inside for l in tree.listing(os.fsencode(project)))
    if process.returncode < 0:
        problems.append(said)
    if sorted(tree.listing(os.fsencode(outside))) != before_outside:
        problems.append('something outside has changed: %r' % said)
        break
report('%d restores under attack (by status: %s): nothing outside changes' % (rounds * 2, outcomes), problems)
report('in %d of them it came to writing' % written, [] if written > rounds // 2 else ['too few'])
for name in os.listdir(project): # what the races left in odd places
    if name not in [os.path.basename(p) for p in pairs[::2]]:
        subprocess.run(['rm', '-rf', project + '/' + name])
result = as_user(build + '/bin/agentcell', 'restore', '--store', store, first)
report('afterwards a restore in peace succeeds', [] if result.returncode == 0 else [result.stdout])
want = sorted((l[0], l[1], l[7]) for l in reader.listing(store, first))
have = sorted((l[0], l[1], l[7]) for l in tree.listing(os.fsencode(project)))
report('and everything is as it was', [] if want == have else ['it is not'])
spoil()
with Attack():
    end, caught = time.time() + 30, False
    while not caught and time.time() < end:
        os.seteuid(uid)
        careless_write()
        os.seteuid(0)
        caught = sorted(tree.listing(os.fsencode(outside))) != before_outside
report('a careless writer is caught', [] if caught else
       ['never: the attack does not work'])
print('1..%d' % count)
sys.exit(bool(failed))
