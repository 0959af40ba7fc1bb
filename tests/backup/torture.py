#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""torture.py DIR [FILES]: makes a tree with everything that a file system has and backups lose.

Run as the user who is to own it.  FILES: so many small files besides (default 2000)."""
import os, random, socket, subprocess, sys

root, many = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000
os.umask(0o022)
os.mkdir(root)
os.chdir(root)
rng = random.Random(20261130)

def write(name, content, mode=None, dir_fd=None):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=dir_fd)
    while content:
        content = content[os.write(fd, content):]
    if mode is not None:
        os.fchmod(fd, mode)
    os.close(fd)

# Names.
os.mkdir('names')
for name in [b'new\nline', b'esc\x1b[31mred', b'\xff\xfe not utf-8', b' leading', b'trailing ', b'-rf', b'%41%',
             b'quote"\'`$(x)', b'back\\slash', b'*', b'?', b'x' * 255, '\u202egnp.exe'.encode(), b'\x01\x7f',
             b'.agentcell-restore-x', b'..x', b'...', b'tab\t']:
    write(b'names/' + name, name)
    os.mkdir(b'names/' + name[:250] + b'.d')

# Sizes around every limit, duplicates, content that compresses and that does not.
os.mkdir('sizes')
for size in [0, 1, 4095, 4096, 65536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20, (5 << 20) + 12345]:
    write('sizes/zero%d' % size, bytes(size))
    write('sizes/random%d' % size, rng.randbytes(size))
for i in range(50):
    write('sizes/same%d' % i, b'the same content ' * 100)

# Types.
os.mkdir('types')
os.symlink('names', 'types/link')
os.symlink('/nonexistent/\xff'.encode('latin-1'), 'types/dangling')
for longest in [4094, 1023]: # XFS ends at 1023
    try:
        os.symlink('y' * longest, 'types/longest')
        break
    except OSError:
        pass
os.symlink('eight888', 'types/eight')
os.mkfifo('types/fifo')
s = socket.socket(socket.AF_UNIX)
s.bind('types/socket')
os.mkdir('types/empty')

# Holes.
os.mkdir('holes')
def sparse(name, size, pieces):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT)
    os.ftruncate(fd, size)
    for offset, content in pieces:
        os.pwrite(fd, content, offset)
    os.fsync(fd)
    os.close(fd)
sparse('holes/ten-gigabytes', 10 << 30, [(0, b'begin'), (5 << 30, rng.randbytes(3 << 20)), ((10 << 30) - 5, b'end..')])
sparse('holes/all-hole', 1 << 30, [])
sparse('holes/head', 1 << 22, [(1 << 21, b'x' * 4096)])
sparse('holes/tail', 1 << 22, [(0, b'x' * 70000)])

# Modes and times.
os.mkdir('modes')
modes = [0o000, 0o111, 0o200, 0o300, 0o400, 0o444, 0o600, 0o644, 0o755, 0o777, 0o4755, 0o2755, 0o6711, 0o1644]
for mode in modes:
    write('modes/f%04o' % mode, b'mode %o' % mode)
    os.mkdir('modes/d%04o' % mode)
    for kind in 'fd':
        os.setxattr('modes/%s%04o' % (kind, mode), 'user.mode', b'%o' % mode)
    os.chmod('modes/f%04o' % mode, mode)
    os.symlink('inside', 'modes/d%04o/link' % mode)
    os.mkfifo('modes/d%04o/fifo' % mode)
    write('modes/d%04o/inside' % mode, b'in')
    os.mkdir('modes/d%04o/sub' % mode)
    write('modes/d%04o/sub/deeper' % mode, b'in', 0o400)
for name, when in [('before-1970', -86400 * 365 * 10), ('far', 4102444800), ('farther', 15032385535), ('zero', 0)]:
    write('modes/' + name, b't')
    os.utime('modes/' + name, ns=(0, when * 10**9 + 123456789))
os.symlink('x', 'modes/old-link')
os.utime('modes/old-link', ns=(0, 999999999), follow_symlinks=False)

# Hard links: within and across directories, to an unreadable file, and copies that are no links.
os.makedirs('hard/a/b')
write('hard/one', b'one file, many names')
for name in ['hard/two', 'hard/a/three', 'hard/a/b/four']:
    os.link('hard/one', name)
write('hard/copy', b'one file, many names')
write('hard/closed', b'closed', 0o000)
os.link('hard/closed', 'hard/a/closed2')
write('hard/a/big', rng.randbytes(3 << 20))
os.link('hard/a/big', 'hard/big2')

# Attributes and ACLs.
os.mkdir('attributes')
write('attributes/x', b'x')
os.setxattr('attributes/x', 'user.empty', b'')
os.setxattr('attributes/x', 'user.binary', bytes(range(256)))
os.setxattr('attributes/x', 'user.long', rng.randbytes(1500))
os.mkdir('attributes/d')
os.setxattr('attributes/d', 'user.on.directory', b'1')
if os.path.exists('/usr/bin/setfacl'):
    write('attributes/acl', b'acl')
    acl = lambda *a: subprocess.run(['setfacl'] + list(a), check=True)
    acl('-m', 'u:12345:rw,g:54321:r,m::rw', 'attributes/acl')
    os.mkdir('attributes/default')
    acl('-d', '-m', 'u:12345:rwx,g:54321:rx', 'attributes/default')
    write('attributes/default/inherits', b'i')
    os.mkdir('attributes/default/inherits.d')
    write('attributes/default/none', b'n')
    acl('-b', 'attributes/default/none')
    os.mkfifo('attributes/default/fifo')

# Deeper than PATH_MAX, and a comb: at each level a directory that waits.
# More arguments: less depth, for tests that make the tree often.
def deep(name, levels, component, comb):
    os.mkdir(name)
    fd = os.open(name, os.O_RDONLY)
    for level in range(levels):
        write('f', b'%d' % level, dir_fd=fd)
        if comb:
            os.mkdir('0wait', dir_fd=fd)
            os.mkdir('zwait', dir_fd=fd)
        os.mkdir(component, dir_fd=fd)
        new = os.open(component, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = new
    os.symlink('bottom', 'bottom', dir_fd=fd)
    os.close(fd)
deep("deep", int(sys.argv[3]) if len(sys.argv) > 3 else 300, 'd' * 60, False)
deep("comb", int(sys.argv[3]) if len(sys.argv) > 3 else 1500, 'm', True)

# Many.
os.mkdir('many')
for i in range(many):
    if i % 1000 == 0:
        os.mkdir('many/%d' % (i // 1000))
    write('many/%d/%d' % (i // 1000, i), b'%d\n' % i * (i % 50))
os.mkdir('flat')
for i in range(many // 2):
    write('flat/%d' % i, b'%d' % i)
for mode in modes:
    os.chmod('modes/d%04o' % mode, mode)
os.chmod('modes', 0o2775)
os.chmod('hard/a', 0o500)
