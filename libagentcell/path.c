/* SPDX-License-Identifier: ISC */
/*
 * Path strings.  Pure, proved (make prove); every caller that trusts a name first has it made
 * canonical by the kernel (resolve.c) or refused here.
 */
#include "path.h"

#include <errno.h>
#include <string.h>

#include "names.h"

/* True when the component that starts at c is empty, "." or "..". */
/*@
  requires \valid_read(c) && (c[0] != 0 ==> \valid_read(c + 1));
  requires c[0] != 0 && c[1] != 0 ==> \valid_read(c + 2);
  terminates \true;
  assigns \nothing;
  ensures \result != 0 <==> ac_special(c);
*/
static bool is_special(const char *c)
{
	if (c[0] == '/' || c[0] == '\0')
		return true;
	if (c[0] != '.')
		return false;
	if (c[1] == '/' || c[1] == '\0')
		return true;
	return c[1] == '.' && (c[2] == '/' || c[2] == '\0');
}

bool ac_path_is_canonical(const char *path)
{
	size_t i;

	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	/*@
	  loop invariant 0 <= i < AC_PATH_MAX;
	  loop invariant \forall integer k; 0 <= k < i ==> path[k] != 0;
	  loop invariant \forall integer k; 0 <= k < i && path[k] == '/' ==> !ac_special(path + k + 1);
	  loop assigns i;
	  loop variant AC_PATH_MAX - i;
	*/
	for (i = 0; path[i] != '\0'; i++) {
		if (i == AC_PATH_MAX - 1)
			return false;
		if (path[i] == '/' && is_special(path + i + 1))
			return false;
	}
	return true;
}

bool ac_path_covers(const char *root, const char *path)
{
	size_t i = 0;

	/*@
	  loop invariant \forall integer n; ac_string(root, n) ==> i <= n;
	  loop invariant \forall integer m; ac_string(path, m) ==> i <= m;
	  loop invariant \forall integer k; 0 <= k < i ==> root[k] == path[k] && root[k] != 0;
	  loop assigns i;
	  loop variant AC_PATH_MAX - i;
	*/
	while (root[i] != '\0' && root[i] == path[i])
		i++;
	if (root[i] != '\0' || i == 0)
		return false;
	return path[i] == '\0' || path[i] == '/' || path[i - 1] == '/';
}

/* Appends the components of name to the path out of length *length ("" stands for "/"). */
static int append(char out[], size_t size, size_t *length, const char *name)
{
	while (*name != '\0') {
		size_t n = strcspn(name, "/");

		if (n == 2 && name[0] == '.' && name[1] == '.') {
			while (*length > 0 && out[--*length] != '/')
				;
		} else if (n > 0 && !(n == 1 && name[0] == '.')) {
			if (n + 2 > size - *length)
				return -ENAMETOOLONG;
			out[(*length)++] = '/';
			memcpy(out + *length, name, n);
			*length += n;
		}
		name += n;
		if (*name == '/')
			name++;
	}
	return 0;
}

int ac_path_join(char out[], size_t size, const char *base, const char *name)
{
	size_t length = 0;

	if (size < 2)
		return -ENAMETOOLONG;
	if ((name[0] != '/' && append(out, size, &length, base)) ||
		append(out, size, &length, name)) {
		out[0] = '\0';
		return -ENAMETOOLONG;
	}
	if (length == 0)
		out[length++] = '/';
	out[length] = '\0';
	return 0;
}
