/* SPDX-License-Identifier: ISC */
/* Variables that the plugin hands over by the PAM environment, since sudo would log its own. */
#ifndef AC_VARIABLES_H
#define AC_VARIABLES_H

#include <security/pam_modules.h>

/* Takes them out of it: a NULL-terminated vector of NAME=value, or NULL: no memory. */
char **ac_variables_take(pam_handle_t *pam);

void ac_variables_free(char **variables);

#endif
