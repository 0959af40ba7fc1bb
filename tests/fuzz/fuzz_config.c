/* SPDX-License-Identifier: ISC */
/*
 * Configuration text, hostile: the main file, a profile, and each single value.  Besides memory
 * safety it holds two promises: a refusal says why, and an accepted endpoint is read again from its
 * own canonical form.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "config_ini.h"
#include "path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "broken promise: %s\n", what);
	abort();
}

static void check_endpoint(const struct ac_endpoint *endpoint)
{
	struct ac_endpoint again;
	char text[AC_HOST_MAX + 32];

	snprintf(text, sizeof(text),
		endpoint->family == AF_INET6  ? "[%s]/%u:%u"
		: endpoint->family == AF_INET ? "%s/%u:%u"
					      : "%s%.0u:%u",
		endpoint->host, endpoint->prefix, endpoint->port);
	need(ac_endpoint_parse(text, &again, NULL) == 0, "canonical endpoint refused");
	need(memcmp(&again, endpoint, sizeof(again)) == 0, "endpoint changed");
}

static void check_config(const struct ac_config *config)
{
	unsigned i;

	need(config->uid_first <= config->uid_last && config->uid_first >= 1000, "uid range");
	need(config->wall_clock_limit_s <= config->wall_clock_max_s, "wall clock");
	for (i = 0; i < config->declared_paths.count; i++)
		need(ac_path_is_canonical(config->declared_paths.text[i]), "path");
	for (i = 0; i < config->endpoint_count; i++)
		check_endpoint(&config->endpoints[i]);
}

static int file_of(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	need(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size &&
			lseek(fd, 0, SEEK_SET) == 0,
		"memfd");
	return fd;
}

static void try_value(const uint8_t *data, size_t size)
{
	char text[512];
	struct ac_endpoint endpoint = { .port = 0 };
	enum ac_risk risk;
	uint64_t number;

	if (size >= sizeof(text))
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (ac_endpoint_parse(text, &endpoint, NULL) == 0)
		check_endpoint(&endpoint);
	if (ac_duration_parse(text, &number, NULL) == 0)
		need(number > 0, "duration");
	ac_size_parse(text, &number, NULL);
	ac_risk_parse(text, &risk, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ac_config config;
	static struct ac_harness harness;
	struct ac_err err = { 0 };

	if (size > AC_INI_FILE_MAX)
		return 0;
	if (!memchr(data, '\n', size)) { /* files are slow: values get most of the tries */
		try_value(data, size);
		return 0;
	}
	if (ac_config_check(file_of(data, size), "f", &config, NULL, NULL, &err) == 0)
		check_config(&config);
	else
		need(err.code > 0 && err.text[0], "refusal without a reason");
	ac_harness_check(file_of(data, size), "f", &harness, NULL, NULL, &err);
	return 0;
}
