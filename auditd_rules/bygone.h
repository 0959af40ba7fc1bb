/* SPDX-License-Identifier: ISC */
/* Sessions that the log tells of: which of them have an end? */
#ifndef AC_BYGONE_H
#define AC_BYGONE_H

#include <stdbool.h>
#include <stdio.h>

#include "policy.h"

struct ac_bygone {
	char id[AC_SESSION_ID_SIZE];
	char time[32]; /* of its last line, as it stands there: compares like a string */
	char user[64], backup_id[128]; /* from the line that says so; else empty */
	bool ended;
};

struct ac_bygone_list { /* zeroed by the caller; free(bygone) */
	struct ac_bygone *bygone;
	unsigned count, size;
};

/* Adds what the lines say; what is no line of ours is passed over.  -ENOMEM, -EIO. */
int ac_bygone_read(FILE *stream, struct ac_bygone_list *list);

#endif
