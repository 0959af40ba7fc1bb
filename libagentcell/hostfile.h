/* SPDX-License-Identifier: ISC */
/*
 * Which files of a project the host later runs or obeys by itself, or because somebody types a habitual
 * command: what an agent changed there acts with the user's rights, after the session.  Pure.
 */
#ifndef AC_HOSTFILE_H
#define AC_HOSTFILE_H

/* Who heeds the file with this absolute path ("npm", "direnv" ...), or NULL: nobody known. */
const char *ac_hostfile_heeded_by(const char *path);

/* The part of path that stands for a whole tree of installed packages (".../node_modules"): its length,
 * or 0.  Thousands of files there are one fact. */
unsigned ac_hostfile_package_tree(const char *path);

#endif
