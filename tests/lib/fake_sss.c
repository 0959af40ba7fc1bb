/* SPDX-License-Identifier: ISC */
/*
 * A sudoers source that is neither file nor LDAP server: libsss_sudo.so as sudo loads it for
 * `sudoers: sss`, with one rule: eve may run /usr/bin/id as anybody, on every host, without a
 * password.  For passthrough.table; the interface is the one that sudo's sssd.c looks up.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct sss_sudo_attr {
	char *name;
	char **values;
	unsigned num_values;
};

struct sss_sudo_rule {
	unsigned num_attrs;
	struct sss_sudo_attr *attrs;
};

struct sss_sudo_result {
	unsigned num_rules;
	struct sss_sudo_rule *rules;
};

static char *const rule[][2] = {
	{ "cn", "test" },
	{ "sudoUser", "eve" },
	{ "sudoHost", "ALL" },
	{ "sudoCommand", "/usr/bin/id" },
	{ "sudoRunAsUser", "ALL" },
	{ "sudoOption", "!authenticate" },
};

int sss_sudo_send_recv(uid_t uid, const char *user, const char *domain, uint32_t *error,
	struct sss_sudo_result **result)
{
	(void)uid;
	(void)domain;
	*error = 0;
	*result = calloc(1, sizeof(**result));
	if (*result == NULL)
		return ENOMEM;
	(*result)->rules = calloc(1, sizeof(*(*result)->rules));
	(*result)->num_rules = strcmp(user, "eve") == 0;
	return 0;
}

int sss_sudo_send_recv_defaults(uid_t uid, const char *user, uint32_t *error, char **domain,
	struct sss_sudo_result **result)
{
	*domain = strdup("test");
	sss_sudo_send_recv(uid, user, *domain, error, result);
	(*result)->num_rules = 0;
	return 0;
}

void sss_sudo_free_result(struct sss_sudo_result *result)
{
	if (result != NULL)
		free(result->rules);
	free(result);
}

int sss_sudo_get_values(struct sss_sudo_rule *unused, const char *name, char ***values)
{
	(void)unused;
	for (unsigned i = 0; i < sizeof(rule) / sizeof(rule[0]); i++) {
		if (strcmp(rule[i][0], name) != 0)
			continue;
		*values = calloc(2, sizeof(**values));
		if (*values == NULL)
			return ENOMEM;
		(*values)[0] = strdup(rule[i][1]);
		return 0;
	}
	return ENOENT;
}

void sss_sudo_free_values(char **values)
{
	if (values != NULL)
		free(values[0]);
	free(values);
}
