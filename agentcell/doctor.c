/* SPDX-License-Identifier: ISC */
/*
 * agentcell doctor: every precondition of a session, one line each, and what to do about it.
 *
 * Exit status 0 only when all of them hold.  What cannot be examined without root counts as not
 * holding, and says so.
 */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "options.h"
#include "output.h"
#include "safefile.h"
#include "util.h"

#define SYNOPSIS "doctor [--json] [--project DIRECTORY]"

__attribute__((format(printf, 5, 0))) static void report(struct ac_doctor *doctor,
	const char *verdict, const char *name, const char *remedy, const char *format, va_list args)
{
	json_object *result = ac_out_object();
	struct ac_err text = { 0 };
	char buffer[AC_ERR_TEXT_MAX];

	vsnprintf(buffer, sizeof(buffer), format, args);
	ac_fail(&text, EINVAL, "%s", buffer); /* makes it printable */
	ac_out_add(result, "check", name);
	ac_out_add(result, "verdict", verdict);
	ac_out_add(result, "text", text.text);
	if (remedy)
		ac_out_add(result, "remedy", remedy);
	json_object_array_add(doctor->results, result);
	if (doctor->json)
		return;
	printf("%-8s%-18s%s\n", verdict, name, text.text);
	if (remedy)
		printf("%-8s%-18s-> %s\n", "", "", remedy);
}

void ac_doctor_ok(struct ac_doctor *doctor, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(doctor, "ok", name, NULL, format, args);
	va_end(args);
}

void ac_doctor_note(struct ac_doctor *doctor, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(doctor, "note", name, NULL, format, args);
	va_end(args);
}

void ac_doctor_fail(
	struct ac_doctor *doctor, const char *name, const char *remedy, const char *format, ...)
{
	va_list args;

	doctor->failed++;
	va_start(args, format);
	report(doctor, "FAIL", name, remedy, format, args);
	va_end(args);
}

void ac_doctor_unknown(
	struct ac_doctor *doctor, const char *name, const char *remedy, const char *format, ...)
{
	va_list args;

	doctor->failed++;
	va_start(args, format);
	report(doctor, "unknown", name, remedy, format, args);
	va_end(args);
}

void ac_doctor_result(struct ac_doctor *doctor, const char *name, const char *remedy, int rc,
	const struct ac_err *err, const char *ok)
{
	if (rc >= 0)
		ac_doctor_ok(doctor, name, "%s", ok);
	else if (rc == -EACCES && geteuid() != 0)
		ac_doctor_unknown(doctor, name, "run it as root", "%s", err->text);
	else
		ac_doctor_fail(doctor, name, remedy, "%s", err->text);
}

int ac_doctor_trusted(const char *path, struct ac_err *err)
{
	int fd = ac_open_trusted(AT_FDCWD, path, SIZE_MAX, err);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void run_all(struct ac_doctor *doctor)
{
	ac_doctor_config(doctor);
	ac_doctor_sudo(doctor);
	ac_doctor_pam(doctor);
	ac_doctor_account(doctor);
	ac_doctor_files(doctor);
	ac_doctor_listener(doctor);
	ac_doctor_audit(doctor);
	ac_doctor_kernel(doctor);
	ac_doctor_idmap(doctor);
	ac_doctor_tools(doctor);
}

static void show_sum(const struct ac_doctor *doctor)
{
	if (doctor->json)
		ac_out_json(doctor->results);
	else if (doctor->failed)
		printf("\n%u of %zu checks do not hold; no session can be trusted to start\n",
			doctor->failed, json_object_array_length(doctor->results));
	else
		printf("\nall %zu checks hold\n", json_object_array_length(doctor->results));
}

int ac_command_doctor(int argc, char **argv)
{
	struct ac_options options;
	int first = ac_options_parse(argc, argv, "jp", SYNOPSIS, &options);
	ac_autofree struct ac_config *config = calloc(1, sizeof(*config));
	struct ac_doctor doctor = { .config = config };

	if (first < 0)
		return -1 - first;
	if (first != argc)
		return ac_out_usage(SYNOPSIS);
	if (!config)
		return AC_EXIT_FAILED;
	doctor.json = options.json;
	doctor.project = options.project ? options.project : ".";
	doctor.results = ac_out_array();
	run_all(&doctor);
	show_sum(&doctor);
	json_object_put(doctor.results);
	return doctor.failed ? AC_EXIT_FAILED : AC_EXIT_OK;
}
