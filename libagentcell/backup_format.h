/* SPDX-License-Identifier: ISC */
/*
 * The bytes of manifests and packs, version 1; agentcell-backup(5) says the same in words.
 *
 * Everything is little endian and eight-byte aligned, so that a loaded section is used as it is.
 * Hashes are SHA-256.
 *
 * Content is copied, never shared with the project's file system: the store lies on another one as a
 * rule, where FICLONE and snapshots do not reach.  Where they do, on loop images of XFS and Btrfs
 * with 10,000 files (90 MB), 2 cores under load, seconds:
 *
 *     first backup          2.1-2.8 XFS  2.7-3.0 Btrfs   written, verified, synced
 *     next one              0.8-1.3      0.9-1.2
 *     cp -a --reflink       1.4-1.7      1.5-1.9         each time, nothing synced, nothing hashed
 *     subvolume snapshot                 0.1-0.3         only of a project that is a subvolume
 *     one file of 400 MB    3.5-4.0      3.7-4.8         against 0.01 by FICLONE
 *
 * So a reflink of each file would be slower from the second session on, which is every session but
 * one.  It would save time for large files that change in each, and a snapshot for whoever keeps
 * every project in a subvolume; both need a store on the project's own file system.
 *
 * A reader checks every length and index before it uses one
 * (backup_check.c): nothing here is trusted because of where it lies.
 */
#ifndef AC_BACKUP_FORMAT_H
#define AC_BACKUP_FORMAT_H

#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the backup format is little endian; byte swapping is not written"
#endif

#define AC_MANIFEST_MAGIC "AGCMAN01"
#define AC_PACK_MAGIC "AGCPAK01"
#define AC_FORMAT_VERSION 1
#define AC_CHUNK_MAX (1u << 20) /* no chunk of content is longer */
#define AC_NONE UINT32_MAX

struct ac_hash {
	unsigned char byte[32];
};

struct ac_pack_id {
	unsigned char byte[16];
};

/* --- Manifest: header, sections, SHA-256 of all that precedes it --- */

enum ac_section {
	AC_SECTION_META, /* one JSON object */
	AC_SECTION_ROOTS, /* the paths, each with its NUL, in the order of directory 0 */
	AC_SECTION_PACKS, /* struct ac_pack_id[] */
	AC_SECTION_DIRECTORIES, /* struct ac_directory[] */
	AC_SECTION_ENTRIES, /* struct ac_entry with what follows it, directory by directory */
	AC_SECTION_HASHES, /* struct ac_hash[]: content references... */
	AC_SECTION_PLACES, /* struct ac_place[]: ... and where each was found when this was written */
	AC_SECTION_COUNT
};

struct ac_section_place {
	uint64_t offset, stored, raw; /* stored == raw: as it is; else zstd frames */
};

struct ac_manifest_header {
	char magic[8];
	uint32_t version, header_length;
	uint64_t file_length; /* with the trailing hash */
	int64_t started_s; /* CLOCK_REALTIME before the walk began */
	uint32_t started_ns;
	uint32_t
		window_s; /* what changed less than this before the start is read again next time */
	struct ac_section_place section[AC_SECTION_COUNT];
};

/*
 * Directory 0 is no directory: its entries are the roots, with the whole path as the name.  Every
 * other one begins with an entry named "." that holds its own metadata.
 */
struct ac_directory {
	uint64_t first; /* offset of its first entry */
	uint64_t entry; /* offset of the entry that names it in the parent */
	uint64_t device;
	uint32_t count, parent;
};

enum ac_entry_type {
	AC_ENTRY_REGULAR = 1,
	AC_ENTRY_DIRECTORY,
	AC_ENTRY_SYMLINK,
	AC_ENTRY_FIFO,
	AC_ENTRY_SOCKET,
	AC_ENTRY_CHARACTER,
	AC_ENTRY_BLOCK
};

enum ac_entry_flags {
	AC_ENTRY_TORN = 1, /* changed each time while it was read */
	AC_ENTRY_UNREADABLE = 2, /* metadata only: the user may not read it */
	AC_ENTRY_EXCLUDED = 4, /* metadata only: [backup] exclude */
	AC_ENTRY_MOUNT = 8, /* another file system lies there; not entered */
	AC_ENTRY_SPARSE = 16 /* an extent record follows */
};

struct ac_entry {
	uint32_t length; /* of all of this, a multiple of 8 */
	uint16_t name_length; /* without the NUL that follows it */
	uint8_t type, flags;
	uint32_t mode; /* permission bits only, 07777 */
	uint32_t uid, gid, links;
	int64_t mtime_s, ctime_s;
	uint32_t mtime_ns, ctime_ns;
	uint64_t inode, size;
	uint32_t first; /* regular: first content reference; directory: its number; device: major */
	uint32_t count; /* regular: number of references; device: minor */
	/* The name, NUL, zeros up to a multiple of 8; then side records. */
};

enum ac_side_kind {
	AC_SIDE_TARGET = 1, /* of a symlink, with a NUL */
	AC_SIDE_XATTR, /* name, NUL, value */
	AC_SIDE_EXTENTS /* struct ac_extent[]: where a sparse file has content */
};

struct ac_side {
	uint32_t kind,
		length; /* length of the bytes that follow, then zeros up to a multiple of 8 */
};

struct ac_extent { /* cut into chunks of AC_CHUNK_MAX and a rest */
	uint64_t offset, length;
};

struct ac_place { /* only a hint: the hash is the truth */
	uint32_t pack, row;
};

/* --- Pack: magic, zstd frames, block table, row table, trailer --- */

struct ac_pack_block {
	uint64_t offset;
	uint32_t stored, raw;
};

struct ac_pack_row { /* one chunk; a dead one (pruned) has block AC_NONE */
	struct ac_hash hash;
	uint32_t block, offset, length;
};

struct ac_pack_trailer {
	uint64_t tables; /* offset of the block table */
	uint32_t blocks, rows;
	struct ac_pack_id id;
	struct ac_hash hash; /* of both tables and of this trailer up to here */
	uint32_t version, reserved;
	char magic[8];
};

_Static_assert(sizeof(struct ac_entry) == 72, "an entry has no hidden padding");
_Static_assert(sizeof(struct ac_directory) == 32, "a directory has no hidden padding");
_Static_assert(sizeof(struct ac_pack_row) == 44, "a row has no hidden padding");
_Static_assert(sizeof(struct ac_pack_block) == 16, "a block has no hidden padding");
_Static_assert(sizeof(struct ac_pack_trailer) == 80, "a trailer has no hidden padding");

#endif
