// SPDX-License-Identifier: ISC
/* Lines "address name\n"; one that is switched off has '#' for its first byte. */
#include "hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "safefile.h"
#include "util.h"

#define LINE_SIZE (AC_ADDRESS_TEXT_MAX + AC_HOST_MAX + 2)
#define OFF '#'
#define BLOCK 4096 /* no page is smaller: the kernel shows what is written to one at once */
#define OWN "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n" /* the head; stays */

static bool is_endpoint(const struct ac_policy *policy, const char *host)
{
	for (unsigned i = 0; i < policy->endpoint_count; i++)
		if (strcmp(policy->endpoints[i].host, host) == 0)
			return true;
	return false;
}

/* The text that stands for an address, or false: it has no name, or its name has left it. */
static bool make_line(const struct ac_address *address, char line[LINE_SIZE])
{
	char text[AC_ADDRESS_TEXT_MAX];

	if (!*address->host || address->state != AC_ADDRESS_CURRENT)
		return false;
	ac_address_format(address, text);
	snprintf(line, LINE_SIZE, "%s %s\n", text, address->host);
	return true;
}

/* A name may have several ports, hence the same line twice. */
static bool has_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
		if (strncmp(at, line, length) == 0)
			return true;
	return false;
}

static void put_addresses(
	const struct ac_addresses *addresses, char *text, size_t size, size_t *used)
{
	char line[LINE_SIZE];

	for (unsigned i = 0; i < addresses->count && *used < size; i++)
		if (make_line(&addresses->address[i], line) && !has_line(text, line))
			*used += (size_t)snprintf(text + *used, size - *used, "%s", line);
}

/* A resolver that reads the hosts file itself (musl's) would ask 127.0.0.1 for any other name, and
 * that is a look-up; these lead to the session's own loopback, where nothing listens. */
static void put_tolerated(const struct ac_policy *policy, char *text, size_t size, size_t *used)
{
	for (unsigned i = 0; i < policy->tolerated.count && *used < size; i++)
		if (!is_endpoint(policy, policy->tolerated.name[i]))
			*used += (size_t)snprintf(text + *used, size - *used, "0.0.0.0 %s\n",
				policy->tolerated.name[i]);
}

int ac_hosts_make(int session_fd, const struct ac_policy *policy,
	const struct ac_addresses *addresses, struct ac_err *err)
{
	ac_autofree char *text = malloc(AC_HOSTS_MAX);
	size_t used;

	if (!text)
		return ac_fail_errno(err, ENOMEM, "no memory for the hosts file");
	used = (size_t)snprintf(text, AC_HOSTS_MAX, OWN);
	put_tolerated(policy, text, AC_HOSTS_MAX, &used);
	put_addresses(addresses, text, AC_HOSTS_MAX, &used);
	if (used >= AC_HOSTS_MAX)
		return ac_fail(err, E2BIG, "too many addresses for the view's /etc/hosts");
	/* The step before may have been tried once already. */
	if (unlinkat(session_fd, AC_HOSTS_NAME, 0) != 0 && errno != ENOENT)
		return ac_fail_errno(err, errno, "remove the hosts file of a first try");
	return ac_write_new(session_fd, AC_HOSTS_NAME, text, used, 0644, err);
}

/* Heap, NUL-terminated, whole lines; *fd can be written to. */
static char *read_file(int session_fd, int *fd, size_t *length, struct ac_err *err)
{
	ac_autofree char *text = calloc(1, AC_HOSTS_MAX + 1);
	ssize_t size;

	*fd = openat(session_fd, AC_HOSTS_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0 || !text) {
		ac_fail_errno(err, text ? errno : ENOMEM, "open the session's hosts file");
		return NULL;
	}
	size = ac_read_all(*fd, text, AC_HOSTS_MAX);
	if (size >= 0 && (strncmp(text, OWN, strlen(OWN)) != 0 || text[size - 1] != '\n' ||
				 strlen(text) != (size_t)size))
		size = -EBADMSG;
	if (size < 0) {
		ac_fail_errno(err, (int)-size, "read the session's hosts file");
		return NULL;
	}
	*length = (size_t)size;
	return AC_TAKE(text);
}

static bool is_off(const char *line)
{
	return *line == OFF || *line == '\n';
}

/* One line's address for each port that its name is declared with. */
static int take_line(const char *line, const struct ac_policy *policy,
	struct ac_addresses *addresses, struct ac_err *err)
{
	struct ac_address address = { .family = AF_INET, .prefix = 32 };
	char number[AC_ADDRESS_TEXT_MAX], host[AC_HOST_MAX];
	int code = 0;

	if (is_off(line) || sscanf(line, "%63s %255[^\n ]", number, host) != 2)
		return 0;
	if (inet_pton(AF_INET, number, address.bytes) != 1) {
		address.family = AF_INET6;
		address.prefix = 128;
		if (inet_pton(AF_INET6, number, address.bytes) != 1)
			return ac_fail(err, EBADMSG, "the hosts file has a line '%s'", number);
	}
	memcpy(address.host, host, sizeof(host));
	for (unsigned i = 0; i < policy->endpoint_count && !code; i++) {
		if (policy->endpoints[i].family || strcmp(policy->endpoints[i].host, host) != 0)
			continue;
		address.port = policy->endpoints[i].port;
		code = ac_addresses_add(addresses, &address, err);
	}
	return code;
}

static bool has_names(const struct ac_policy *policy)
{
	for (unsigned i = 0; i < policy->endpoint_count; i++)
		if (!policy->endpoints[i].family)
			return true;
	return false;
}

int ac_hosts_read(int session_fd, const struct ac_policy *policy, struct ac_addresses *addresses,
	struct ac_err *err)
{
	int code = ac_addresses_begin(policy, addresses, err);
	ac_autofree char *text = NULL;
	ac_autoclose int fd = -1;
	size_t length;

	if (code || !has_names(policy))
		return code;
	text = read_file(session_fd, &fd, &length, err);
	if (!text)
		return -err->code;
	for (const char *at = text + strlen(OWN); !code && *at; at += strcspn(at, "\n") + 1)
		code = take_line(at, policy, addresses, err);
	return code;
}

static bool put(int fd, const char *bytes, size_t length, size_t offset)
{
	return pwrite(fd, bytes, length, (off_t)offset) == (ssize_t)length;
}

static int append(int fd, char *text, size_t *length, const char *line)
{
	size_t size = strlen(line);

	if (*length + size > AC_HOSTS_MAX)
		return -EFBIG;
	if (!put(fd, line, size, *length))
		return -EIO;
	memcpy(text + *length, line, size + 1);
	*length += size;
	return 0;
}

/* A line that lay across two pages could be seen by half: what is left of the first is filled. */
static int fill_block(int fd, char *text, size_t *length, size_t size)
{
	size_t room = BLOCK - *length % BLOCK;
	char filler[BLOCK];

	if (room >= size)
		return 0;
	memset(filler, OFF, room);
	filler[room - 1] = '\n';
	filler[room] = '\0';
	return append(fd, text, length, filler);
}

/* Switches on the line that was there before, or appends it.  text is kept as the file. */
static int show_line(int fd, char *text, size_t *length, const char *line)
{
	size_t size = strlen(line);
	int code;

	if (has_line(text, line))
		return 0;
	for (char *at = text; *at; at += strcspn(at, "\n") + 1) {
		if (*at != OFF || strncmp(at + 1, line + 1, size - 1) != 0)
			continue;
		*at = *line;
		return put(fd, line, 1, (size_t)(at - text)) ? 0 : -EIO;
	}
	code = fill_block(fd, text, length, size);
	return code ? code : append(fd, text, length, line);
}

/* Is this line, of one of the policy's names, not one of the addresses? */
static bool is_stale(
	const char *at, const struct ac_policy *policy, const struct ac_addresses *addresses)
{
	char number[AC_ADDRESS_TEXT_MAX], host[AC_HOST_MAX], line[LINE_SIZE];

	if (is_off(at) || sscanf(at, "%63s %255[^\n ]", number, host) != 2 ||
		!is_endpoint(policy, host))
		return false;
	for (unsigned i = 0; i < addresses->count; i++)
		if (make_line(&addresses->address[i], line) && strncmp(at, line, strlen(line)) == 0)
			return false;
	return true;
}

int ac_hosts_update(int session_fd, const struct ac_policy *policy,
	const struct ac_addresses *addresses, bool sweep, struct ac_err *err)
{
	ac_autoclose int fd = -1;
	size_t length = 0;
	ac_autofree char *text = read_file(session_fd, &fd, &length, err);
	char line[LINE_SIZE];
	int code = 0;

	if (!text)
		return -err->code;
	for (unsigned i = 0; i < addresses->count && !code; i++)
		if (make_line(&addresses->address[i], line))
			code = show_line(fd, text, &length, line);
	for (char *at = text + strlen(OWN); sweep && *at && !code; at += strcspn(at, "\n") + 1)
		if (is_stale(at, policy, addresses) && !put(fd, "#", 1, (size_t)(at - text)))
			code = -EIO;
	return code ? ac_fail_errno(err, -code, "change the session's hosts file") : 0;
}
