/* SPDX-License-Identifier: ISC */
/*
 * The same events as user-space records of the audit system.
 *
 * libaudit answers 0, not an error, when the kernel has no audit or the caller may not write, and
 * the kernel takes and drops messages while auditing is off: only a positive serial with auditing
 * switched on counts as sent.
 */
#include <errno.h>
#include <libaudit.h>
#include <string.h>

#include "log.h"
#include "util.h"

int ac_log_audit(int type, const char *text, bool success, struct ac_err *err)
{
	ac_autoclose int fd = audit_open();
	int enabled, serial;

	if (fd < 0)
		return ac_fail_errno(err, errno,
			errno == EINVAL || errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT
				? "open the audit system (is CONFIG_AUDIT in this kernel?)"
				: "open the audit system");
	enabled = audit_is_enabled(fd);
	if (enabled == 0)
		return ac_fail(err, ENOTCONN,
			"audit record %d not sent: auditing is switched off; 'auditctl -e 1' turns "
			"it on",
			type);
	/* Negative: CAP_AUDIT_CONTROL is missing, which does not keep us from sending. */
	errno = 0;
	serial = audit_log_user_message(fd, type, text, NULL, NULL, NULL, success);
	if (serial <= 0)
		return ac_fail_errno(err, errno ? errno : EPERM,
			"send audit record %d (needs CAP_AUDIT_WRITE)", type);
	return 0;
}
