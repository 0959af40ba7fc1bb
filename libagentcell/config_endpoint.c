/* SPDX-License-Identifier: ISC */
/*
 * Endpoints: name:port, address[/prefix]:port, [address]:port, [address]/prefix:port.
 *
 * Each form that could mean two things is refused: wildcards, trailing dots, names that an old
 * resolver would take for an address (0x7f.1), v4-mapped addresses, host bits behind a prefix.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config_value.h"

#define LABEL_MAX 63
#define NAME_MAX_BYTES 253

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Judges one label of lower-case bytes; NULL or the reason. */
static const char *label_is_refused(const char *label, size_t length)
{
	size_t i;

	if (length == 0)
		return "an empty label (two dots, or a dot at the end)";
	if (length > LABEL_MAX)
		return "a label of more than 63 bytes";
	if (label[0] == '-' || label[length - 1] == '-')
		return "a label that begins or ends with '-'";
	for (i = 0; i < length; i++) {
		if (label[i] == '*')
			return "wildcards cannot be turned into addresses; name each host";
		if ((unsigned char)label[i] >= 0x80)
			return "not ASCII; write an international name in its xn-- form";
		if (!is_digit(label[i]) && label[i] != '-' && (label[i] < 'a' || label[i] > 'z'))
			return "a byte that no host name has";
	}
	return NULL;
}

const char *ac_host_refused(const char *text, char host[AC_HOST_MAX])
{
	size_t length = strlen(text), i;
	char name[AC_HOST_MAX] = "";
	const char *label = name;

	if (length == 0 || length > NAME_MAX_BYTES)
		return "a name has 1 to 253 bytes";
	for (i = 0; i < length; i++)
		name[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A')
								  : text[i]);
	for (;;) {
		size_t label_length = strcspn(label, ".");
		const char *refused = label_is_refused(label, label_length);

		if (refused)
			return refused;
		if (!label[label_length])
			break;
		label += label_length + 1;
	}
	if (is_digit(label[0]))
		return "the last label begins with a digit: an address, written wrongly?";
	memcpy(host, name, sizeof(name));
	return NULL;
}

static bool has_host_bits(const unsigned char *bytes, unsigned bits, unsigned prefix)
{
	unsigned i;

	for (i = prefix; i < bits; i++)
		if (bytes[i / 8] & (0x80u >> (i % 8)))
			return true;
	return false;
}

static const char *address_is_refused(int family, const unsigned char *bytes, unsigned prefix)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	unsigned bits = family == AF_INET ? 32 : 128;

	if (prefix == 0)
		return "prefix 0 is the whole world; name the networks";
	if (prefix > bits)
		return "the prefix is longer than the address";
	if (has_host_bits(bytes, bits, prefix))
		return "bits are set behind the prefix; write the network's own address";
	if (family == AF_INET && bytes[0] >= 224)
		return "multicast and reserved addresses are no endpoints";
	if (family == AF_INET && bytes[0] == 0)
		return "an address of network 0 means this host to some and nothing to others";
	if (family == AF_INET6 && bytes[0] == 0xff)
		return "multicast addresses are no endpoints";
	if (family == AF_INET6 && memcmp(bytes, mapped, sizeof(mapped)) == 0)
		return "write a v4-mapped address as IPv4";
	if (family == AF_INET6 && !has_host_bits(bytes, bits, 0))
		return "the unspecified address is no endpoint";
	return NULL;
}

/* "443": no sign, no leading zero. */
static int parse_port(const char *text, uint16_t *port)
{
	uint64_t number;

	if (text[0] == '0' || ac_count_parse(text, UINT16_MAX, &number, NULL) < 0)
		return -EINVAL;
	*port = (uint16_t)number;
	return 0;
}

struct parts { /* of the text, copied */
	char host[AC_HOST_MAX];
	char prefix[8]; /* "" where none */
	bool has_brackets;
};

/* Splits everything before ":port". */
static int split(const char *text, size_t length, struct parts *parts)
{
	const char *slash = memchr(text, '/', length);
	size_t host_length = slash ? (size_t)(slash - text) : length;

	memset(parts, 0, sizeof(*parts));
	if (slash) {
		size_t prefix_length = length - host_length - 1;

		if (prefix_length == 0 || prefix_length >= sizeof(parts->prefix))
			return -EINVAL;
		memcpy(parts->prefix, slash + 1, prefix_length);
	}
	if (host_length >= 2 && text[0] == '[' && text[host_length - 1] == ']') {
		parts->has_brackets = true;
		text++;
		host_length -= 2;
	}
	if (host_length == 0 || host_length >= sizeof(parts->host))
		return -EINVAL;
	memcpy(parts->host, text, host_length);
	return 0;
}

/* NULL and *endpoint filled, or why not. */
static const char *take_address(const struct parts *parts, int family, const unsigned char *bytes,
	struct ac_endpoint *endpoint)
{
	uint64_t prefix = family == AF_INET ? 32 : 128;
	const char *refused;

	if (parts->prefix[0] && ac_count_parse(parts->prefix, 128, &prefix, NULL) < 0)
		return "the prefix is no number";
	refused = address_is_refused(family, bytes, (unsigned)prefix);
	if (refused)
		return refused;
	if (!inet_ntop(family, bytes, endpoint->host, sizeof(endpoint->host)))
		return "the address cannot be written";
	endpoint->family = (uint8_t)family;
	endpoint->prefix = (uint8_t)prefix;
	return NULL;
}

static const char *take_host(const struct parts *parts, struct ac_endpoint *endpoint)
{
	unsigned char bytes[16];

	if (parts->has_brackets) {
		if (inet_pton(AF_INET6, parts->host, bytes) != 1)
			return "what stands in [] is no IPv6 address";
		return take_address(parts, AF_INET6, bytes, endpoint);
	}
	if (inet_pton(AF_INET, parts->host, bytes) == 1)
		return take_address(parts, AF_INET, bytes, endpoint);
	if (strchr(parts->host, ':'))
		return "an IPv6 address stands in []";
	if (parts->prefix[0])
		return "only an address can have a /prefix";
	return ac_host_refused(parts->host, endpoint->host);
}

int ac_endpoint_parse(const char *text, struct ac_endpoint *endpoint, struct ac_err *err)
{
	const char *colon = strrchr(text, ':');
	struct ac_endpoint made = { .port = 0 };
	struct parts parts;
	const char *refused;

	if (!colon || split(text, (size_t)(colon - text), &parts) < 0)
		return ac_fail(err, EINVAL, "endpoint '%s': write host:port", text);
	if (parse_port(colon + 1, &made.port) < 0)
		return ac_fail(err, EINVAL,
			"endpoint '%s': the port must be a number from 1 to 65535", text);
	refused = take_host(&parts, &made);
	if (refused)
		return ac_fail(err, EINVAL, "endpoint '%s': %s", text, refused);
	*endpoint = made;
	return 0;
}
