/* SPDX-License-Identifier: ISC */
/* Loads sudoers.so from the directory that sudo itself uses.  The handle lives as long as sudo. */
#include "sudoers.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "names.h"

#ifndef AC_SUDO_DIRECTORY
#define AC_SUDO_DIRECTORY "/usr/libexec/sudo"
#endif

static void *handle;
static struct policy_plugin *policy;
static struct ac_err load_error;

/* sudo.conf may name another plugin directory; libsudo_util knows it. */
static const char *plugin_directory(void)
{
	const char *(*get)(void);

	*(void **)&get = dlsym(RTLD_DEFAULT, "sudo_conf_plugin_dir_path_v1");
	const char *directory = get ? get() : NULL;

	return directory && *directory == '/' ? directory : AC_SUDO_DIRECTORY;
}

static int load(struct ac_err *err)
{
	char path[AC_PATH_MAX];
	const char *directory = plugin_directory();
	size_t length = strlen(directory);
	const char *slash = length && directory[length - 1] == '/' ? "" : "/";

	if (snprintf(path, sizeof path, "%s%ssudoers.so", directory, slash) >= (int)sizeof path)
		return ac_fail(err, ENAMETOOLONG, "the plugin directory %s is too long", directory);
	handle = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
	if (!handle)
		return ac_fail(err, ENOENT,
			"cannot load %s: %s; agentcell needs the sudoers plugin", path, dlerror());
	policy = dlsym(handle, "sudoers_policy");
	if (!policy)
		return ac_fail(err, ENOENT, "%s has no symbol sudoers_policy", path);
	if (SUDO_API_VERSION_GET_MAJOR(policy->version) != SUDO_API_VERSION_MAJOR) {
		policy = NULL;
		return ac_fail(err, EPROTO, "%s speaks another plugin API than agentcell", path);
	}
	return 0;
}

struct policy_plugin *ac_sudoers_policy(struct ac_err *err)
{
	if (!policy && !load_error.code)
		load(&load_error);
	if (!policy && err)
		*err = load_error;
	return policy;
}

const char *ac_sudoers_missing_line(void)
{
	const struct audit_plugin *audit = handle ? dlsym(handle, "sudoers_audit") : NULL;
	const struct io_plugin *io = handle ? dlsym(handle, "sudoers_io") : NULL;

	if (!audit || !audit->event_alloc)
		return "Plugin sudoers_audit sudoers.so";
	if (!io || !io->event_alloc)
		return "Plugin sudoers_io sudoers.so";
	return NULL;
}
