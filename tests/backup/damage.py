#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""damage.py DIR: does to the torture tree what an agent could do to it."""
import os, shutil, socket, sys

os.chdir(sys.argv[1])
os.chmod('hard/a', 0o755)

def keep_times(name, action):
    st = os.lstat(name)
    action()
    os.utime(name, ns=(st.st_atime_ns, st.st_mtime_ns), follow_symlinks=False)

def patch(name, offset, content):
    with open(name, 'r+b') as f:
        f.seek(offset)
        f.write(content)

# Content: same size and mtime, appended, cut, one byte in the middle chunk, holes filled.
keep_times('sizes/random4096', lambda: patch('sizes/random4096', 100, b'evil'))
patch('sizes/random%d' % ((5 << 20) + 12345), 2 << 20, b'!')
with open('sizes/zero1', 'ab') as f: f.write(b'more')
os.truncate('sizes/random65536', 10)
patch('holes/ten-gigabytes', 7 << 30, b'in the hole')
os.truncate('holes/all-hole', 1 << 20)
with open('holes/head', 'wb') as f: f.write(bytes(1 << 21) + b'x' * 4096 + bytes((1 << 21) - 4096))
# Types turned into each other, onto files and directories alike.
os.unlink('types/link'); os.mkdir('types/link'); open('types/link/evil', 'w').close()
shutil.rmtree('types/empty'); os.symlink('/etc', 'types/empty')
os.unlink('types/fifo'); open('types/fifo', 'w').close()
os.unlink('types/socket'); os.mkfifo('types/socket')
os.unlink('types/eight'); os.symlink('/etc/shadow', 'types/eight')
shutil.rmtree('names/*.d'); os.symlink('..', 'names/*.d')
os.unlink(b'names/new\nline'); os.makedirs(b'names/new\nline/deep/er')
os.unlink('sizes/same0'); os.symlink('same1', 'sizes/same0')
# Removed and added.
for name in ['sizes/same%d' % i for i in range(10, 20)]: os.unlink(name)
shutil.rmtree('many/0')
os.makedirs('added/a/b/c')
for i in range(50): open('added/a/b/%d' % i, 'w').write('added')
os.symlink('/', 'added/root')
open('added/.agentcell-restore-0123456789abcdef', 'w').close()
# Modes, times, attributes, ACLs.
for name in sorted(os.listdir('modes')):
    if name.startswith('f'): os.chmod('modes/' + name, 0o640)
os.chmod('modes/d0000', 0o755); os.unlink('modes/d0000/inside')
os.chmod('modes/d0755', 0o000)
os.chmod('modes', 0o700)
os.utime('modes/far', ns=(0, 5))
os.utime('modes/old-link', ns=(0, 5), follow_symlinks=False)
os.removexattr('attributes/x', 'user.empty')
os.setxattr('attributes/x', 'user.binary', b'changed')
os.setxattr('attributes/x', 'user.new', b'new')
os.removexattr('attributes/d', 'user.on.directory')
if os.path.exists('attributes/acl'):
    os.removexattr('attributes/acl', 'system.posix_acl_access')
    os.removexattr('attributes/default', 'system.posix_acl_default')
    os.unlink('attributes/default/none')
# Hard links broken, joined, and one name lost.
os.unlink('hard/two'); shutil.copy2('hard/one', 'hard/two')
os.unlink('hard/copy'); os.link('hard/one', 'hard/copy')
os.unlink('hard/a/closed2')
os.unlink('hard/big2'); os.link('hard/one', 'hard/big2')
os.unlink('hard/a/b/four')
# Deep down.
fd = os.open('deep', os.O_RDONLY)
for level in range(int(sys.argv[2]) if len(sys.argv) > 2 else 250):
    new = os.open('d' * 60, os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = new
os.unlink('f', dir_fd=fd)
os.mkdir('evil', dir_fd=fd)
os.close(os.open('evil/x', os.O_CREAT | os.O_WRONLY, dir_fd=fd))
fd = os.open('comb', os.O_RDONLY)
for level in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1400):
    os.rmdir('0wait', dir_fd=fd)
    new = os.open('m', os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = new
shutil.rmtree('flat')
