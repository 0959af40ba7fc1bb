#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Reads a backup by agentcell-backup(5) alone and lists it, one line a thing, as tree.py lists a tree."""
import ctypes, hashlib, os, struct, sys

zstd = ctypes.CDLL('libzstd.so.1')
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]

def expand(stored, raw):
    buffer = ctypes.create_string_buffer(raw or 1)
    got = zstd.ZSTD_decompress(buffer, raw, stored, len(stored))
    assert got == raw, 'a frame does not expand'
    return buffer.raw[:raw]

class Packs:
    def __init__(self, store):
        self.rows, self.blocks, self.last = {}, {}, (None, None)
        for name in (n for n in os.listdir(store) if n.endswith('.pack')):
            data = open(os.path.join(store, name), 'rb').read()
            tables, nblocks, nrows, ident, digest, version, _, magic = struct.unpack('<QII16s32sII8s', data[-80:])
            assert data[:8] == magic == b'AGCPAK01' and version == 1 and ident.hex() + '.pack' == name
            assert hashlib.sha256(data[tables:-80] + data[-80:-48]).digest() == digest, 'pack tables'
            blocks = list(struct.iter_unpack('<QII', data[tables:tables + 16 * nblocks]))
            for digest, block, offset, length in struct.iter_unpack('<32sIII', data[tables + 16 * nblocks:-80]):
                if block != 0xffffffff:
                    self.rows[digest] = (data, blocks[block], offset, length)

    def chunk(self, digest):
        data, (at, stored, raw), offset, length = self.rows[digest]
        key = (id(data), at)
        if self.last[0] != key:
            self.last = (key, expand(data[at:at + stored], raw))
        content = self.last[1][offset:offset + length]
        assert hashlib.sha256(content).digest() == digest, 'chunk'
        return content

def manifest(path):
    data = open(path, 'rb').read()
    magic, version, header, length, started, ns, window = struct.unpack('<8sIIQqII', data[:40])
    assert magic == b'AGCMAN01' and version == 1 and header == 208 and length == len(data)
    assert hashlib.sha256(data[:-32]).digest() == data[-32:], 'manifest hash'
    places = [struct.unpack('<QQQ', data[40 + 24 * i:64 + 24 * i]) for i in range(7)]
    return [data[o:o + s] if s == r else expand(data[o:o + s], r) for o, s, r in places]

def align(n):
    return (n + 7) & ~7

def walk(sections, number, prefix):
    _, _, _, directories, entries, hashes, _ = sections
    at, _, device, count, _ = struct.unpack('<QQQII', directories[32 * number:32 * number + 32])
    for _ in range(count):
        length, namelen, kind, flags, mode, uid, gid, links, mtime, _, mns, _, inode, size, first, n = \
            struct.unpack('<IHBBIIIIqqIIQQII', entries[at:at + 72])
        name, side = entries[at + 72:at + 72 + namelen], at + 72 + align(namelen + 1)
        xattrs, target, extents = [], b'', None
        while side < at + length:
            what, n_side = struct.unpack('<II', entries[side:side + 8])
            body = entries[side + 8:side + 8 + n_side]
            if what == 1: target = body[:-1]
            if what == 2: xattrs.append(tuple(body.split(b'\0', 1)))
            if what == 3: extents = list(struct.iter_unpack('<QQ', body))
            side += 8 + align(n_side)
        at += length
        path = prefix if name == b'.' else prefix + b'/' + name if prefix else name
        if kind == 2 and name != b'.':
            yield from walk(sections, first, path)
        else:
            refs = [hashes[32 * i:32 * i + 32] for i in range(first, first + n)] if kind == 1 else []
            if flags & 14: # unreadable, excluded, mount: nothing is stored
                refs = None
            yield path, kind, mode, uid, gid, (mtime, mns), size, links, (device, inode), target, xattrs, extents, refs

def listing(store, backup):
    packs = Packs(store)
    for path, kind, mode, uid, gid, mtime, size, links, inode, target, xattrs, extents, refs in \
            walk(manifest(os.path.join(store, backup + '.manifest')), 0, b''):
        is_stored, digest, refs = kind == 1 and refs is not None, hashlib.sha256(), iter(refs or [])
        for offset, length in ([(0, size)] if extents is None else extents) if is_stored else []:
            digest.update(b'%d %d ' % (offset, length) if extents is not None else b'')
            for at in range(0, length, 1 << 20):
                digest.update(packs.chunk(next(refs)))
        what = {1: 'f', 2: 'd', 3: 'l', 4: 'p', 5: 's', 6: 'c', 7: 'b'}[kind]
        yield (path, what, mode if what != 'l' else 0, uid, gid, mtime, size if what == 'f' else 0,
               digest.hexdigest() if is_stored else '', target, sorted(xattrs),
               inode if what == 'f' and links > 1 else None)

if __name__ == '__main__':
    sys.setrecursionlimit(1000000)
    from tree import show
    show(listing(sys.argv[1], sys.argv[2]))
