#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Lists a real tree by system calls alone, one line a thing; knows nothing of agentcell.

Hard links are shown as the set of names: each name's line holds the first name of its group."""
import ctypes, hashlib, os, stat, sys

# Python's own xattr functions refuse names that are no UTF-8 in some locales; bytes are fine.
def xattrs(where):
    try:
        return sorted((n.encode(), os.getxattr(where, n)) for n in os.listxattr(where)
                      if not n.startswith('trusted.')) # root's; a user does not even see them
    except OSError:
        return []

def content(fd, st):
    digest, buffer = hashlib.sha256(), 1 << 20
    if st.st_size and st.st_blocks * 512 < st.st_size:
        at = 0
        while at < st.st_size:
            try:
                start = os.lseek(fd, at, os.SEEK_DATA)
            except OSError:
                break
            at = min(os.lseek(fd, start, os.SEEK_HOLE), st.st_size)
            digest.update(b'%d %d ' % (start, at - start))
            for offset in range(start, at, buffer):
                digest.update(os.pread(fd, min(buffer, at - offset), offset))
    else:
        while block := os.read(fd, buffer):
            digest.update(block)
    return digest.hexdigest()

def times(st):
    return divmod(st.st_mtime_ns, 10**9)

def one(dir_fd, name, path):
    st = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    kind = {stat.S_IFREG: 'f', stat.S_IFDIR: 'd', stat.S_IFLNK: 'l', stat.S_IFIFO: 'p',
            stat.S_IFSOCK: 's', stat.S_IFCHR: 'c', stat.S_IFBLK: 'b'}[stat.S_IFMT(st.st_mode)]
    digest, target, attributes = '', b'', []
    if kind in 'fd':
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOATIME, dir_fd=dir_fd)
        attributes = xattrs(fd)
        digest = content(fd, st) if kind == 'f' else ''
        os.close(fd)
    if kind in 'psbc':
        attributes = xattrs(b'/proc/self/fd/%d/%s' % (dir_fd, name))
    if kind == 'l':
        target = os.readlink(name, dir_fd=dir_fd)
    return (path, kind, stat.S_IMODE(st.st_mode) if kind != 'l' else 0, st.st_uid, st.st_gid, times(st),
            st.st_size if kind == 'f' else 0, digest, target, attributes,
            (st.st_dev, st.st_ino) if kind == 'f' and st.st_nlink > 1 else None)

def listing(root):
    """By descriptors, so that depth does not matter; root's rights read everything."""
    yield one(None, root, root)
    stack = [(os.open(root, os.O_RDONLY), root, None)]
    while stack:
        fd, path, names = stack.pop()
        names = iter(sorted(os.fsencode(n) for n in os.listdir(fd))) if names is None else names
        for name in names:
            line = one(fd, name, path + b'/' + name)
            yield line
            if line[1] == 'd':
                stack.append((fd, path, names))
                stack.append((os.open(name, os.O_RDONLY, dir_fd=fd), path + b'/' + name, None))
                break
        else:
            os.close(fd)

def show(lines):
    groups, lines = {}, sorted(lines)
    for line in lines:
        if line[10]:
            groups.setdefault(line[10], line[0])
    for path, kind, mode, uid, gid, mtime, size, digest, target, attributes, group in lines:
        path = path if len(path) < 500 else hashlib.sha256(path).hexdigest().encode()
        print(path.hex(), kind, '%o' % mode, uid, gid, '%d.%09d' % mtime, size, digest, target.hex(),
              [(n, v.hex()) for n, v in attributes],
              hashlib.sha256(groups[group]).hexdigest()[:16] if group else '-')

if __name__ == '__main__':
    for root in sys.argv[1:]:
        show(listing(os.fsencode(root)))
