/* SPDX-License-Identifier: ISC */
/* They are keys, most of them: wiped when they are no longer needed. */
#include "variables.h"

#include <stdlib.h>
#include <string.h>

#include "names.h"

static void forget(pam_handle_t *pam, const char *entry)
{
	char name[AC_NAME_MAX + sizeof AC_PRIVATE_PREFIX];
	size_t length = strcspn(entry, "=");

	if (length >= sizeof name)
		return;
	memcpy(name, entry, length);
	name[length] = '\0';
	pam_putenv(pam, name);
}

char **ac_variables_take(pam_handle_t *pam)
{
	static const char prefix[] = AC_PRIVATE_PREFIX;
	char **list = pam_getenvlist(pam);
	size_t kept = 0;

	for (size_t i = 0; list && list[i]; i++) {
		char *entry = list[i];

		if (strncmp(entry, prefix, strlen(prefix)) != 0) {
			free(entry);
			continue;
		}
		forget(pam, entry);
		memmove(entry, entry + strlen(prefix), strlen(entry + strlen(prefix)) + 1);
		list[kept++] = entry;
	}
	if (list)
		list[kept] = NULL;
	return list;
}

void ac_variables_free(char **variables)
{
	for (size_t i = 0; variables && variables[i]; i++) {
		explicit_bzero(variables[i], strlen(variables[i]));
		free(variables[i]);
	}
	free(variables);
}
