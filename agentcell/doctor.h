/* SPDX-License-Identifier: ISC */
/*
 * What the checks of agentcell doctor share: each reports one line with one of four verdicts, and
 * what to do where something can be done.
 */
#ifndef AC_DOCTOR_H
#define AC_DOCTOR_H

#include <json-c/json.h>
#include <stdbool.h>

#include "config.h"

struct ac_doctor {
	struct ac_config *config; /* the built-in defaults when the file is bad */
	const char *project; /* directory to probe */
	json_object *results;
	unsigned failed; /* failed and unknown ones */
	bool json;
};

/* It holds. */
void ac_doctor_ok(struct ac_doctor *doctor, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* It does not; remedy says what to do. */
void ac_doctor_fail(struct ac_doctor *doctor, const char *name, const char *remedy,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* It could not be examined, which is not holding. */
void ac_doctor_unknown(struct ac_doctor *doctor, const char *name, const char *remedy,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Worth knowing, and no fault. */
void ac_doctor_note(struct ac_doctor *doctor, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* One of the four by err: ok when rc is not negative. */
void ac_doctor_result(struct ac_doctor *doctor, const char *name, const char *remedy, int rc,
	const struct ac_err *err, const char *ok);

void ac_doctor_sudo(struct ac_doctor *doctor); /* sudo itself, sudo.conf, the plugin */
void ac_doctor_pam(struct ac_doctor *doctor); /* service, module, guard */
void ac_doctor_account(struct ac_doctor *doctor); /* role account, uid range */
void ac_doctor_files(struct ac_doctor *doctor); /* launcher, directories, log */
void ac_doctor_config(struct ac_doctor *doctor); /* configuration and profiles; first */
void ac_doctor_listener(struct ac_doctor *doctor); /* listener and firewall table */
void ac_doctor_audit(struct ac_doctor *doctor); /* audit status and rules */
void ac_doctor_kernel(struct ac_doctor *doctor); /* Landlock, cgroup, seccomp, namespaces */
void ac_doctor_idmap(struct ac_doctor *doctor); /* the project's file system */
void ac_doctor_tools(struct ac_doctor *doctor); /* where harnesses are installed */

/* Like ac_open_trusted for a file of any size; closes it.  0 or -errno. */
int ac_doctor_trusted(const char *path, struct ac_err *err);

#endif
