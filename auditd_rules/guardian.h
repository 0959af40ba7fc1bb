/* SPDX-License-Identifier: ISC */
/*
 * The guardian: everything that the hot thread must not do.  One thread, one epoll loop: the
 * socket, the launchers, pidfds, timers, the journal, the logs, the end of sessions.
 */
#ifndef AC_GUARDIAN_H
#define AC_GUARDIAN_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "errand.h"
#include "kernel.h"
#include "rules.h"
#include "silent.h"
#include "warden.h"
#include "watch.h"

#define AC_GUARDIAN_VERSION "agentcelld 1"

struct ac_guardian;
struct ac_cell;
struct ac_client;
struct ac_leftover;
struct ac_network;

struct ac_source { /* something that epoll watches; embedded in what it belongs to */
	int fd; /* -1: closed */
	void (*ready)(struct ac_guardian *guardian, struct ac_source *source);
};

#define AC_STRAYS_MAX 16

struct ac_stray { /* a process of the range without a session, at the last look */
	pid_t pid;
	int pidfd;
};

struct ac_health {
	const char *wrong; /* NULL: we see everything */
	unsigned attempts; /* to get the stream back */
	uint32_t lost_before; /* the kernel's counter when it was last right */
	uint64_t overruns, missing, config_changes; /* of the stream, as last seen */
	uint64_t next_try_ms;
	int stream_fd; /* the watch's; here it is only asked about */
	uint64_t mark, mark_ms; /* plugin: what was sent last, to see that it comes; 0: nothing */
	uint64_t reload_ms, quiet_ms; /* rules went: since when, and the last change of them */
};

struct ac_guardian {
	struct ac_config *config;
	struct ac_silent *silent;
	struct ac_rules rules;
	struct ac_kernel kernel;
	struct ac_watch *watch;
	struct ac_warden warden;
	struct ac_errands *errands; /* or NULL */
	struct ac_health health;
	int epoll_fd, lock_fd;
	struct ac_source listener, signals, second, stream, warden_source;
	struct ac_cell *cells;
	struct ac_network *networks;
	struct ac_leftover *leftovers;
	struct ac_err network_err; /* scratch: of an act in another namespace */
	struct ac_client *clients;
	unsigned client_count;
	unsigned resolvers; /* at work */
	uint64_t seconds; /* ticks so far */
	bool owner_gone; /* a connection of root's ended without a session: look for orphans soon */
	uint64_t killed_by_warden;
	unsigned stray_count;
	struct ac_stray stray[AC_STRAYS_MAX];
	bool plugin; /* the stream comes from auditd, on standard input */
	bool stopping;
	struct ac_report report; /* scratch: too large for a stack */
	struct ac_watched watched; /* scratch */
};

/* Everything is made ready, orphans are adopted, the socket is bound; ready_fd (or -1) gets one
 * newline.  Then serves until SIGTERM.  Returns the exit code. */
int ac_guardian_run(const char *config_path, int ready_fd, bool plugin);

int ac_source_add(struct ac_guardian *guardian, struct ac_source *source, int fd,
	void (*ready)(struct ac_guardian *, struct ac_source *), struct ac_err *err);
void ac_source_close(struct ac_source *source); /* closes the descriptor */

uint64_t ac_now_ms(void); /* CLOCK_BOOTTIME: time that the machine slept counts */
void ac_guardian_beat(struct ac_guardian *guardian); /* before and during what may take long */

/* Sends a mark and waits until the hot thread has seen it: all that happened before is judged. */
int ac_guardian_sync(struct ac_guardian *guardian, int timeout_ms, struct ac_err *err);

/* Takes what the hot thread found, logs it, and asks for the ends that it means. */
void ac_guardian_collect(struct ac_guardian *guardian);

/* health.c */
int ac_health_init(struct ac_guardian *guardian, struct ac_err *err);
void ac_health_check(struct ac_guardian *guardian);
void ac_health_fini(struct ac_guardian *guardian);

/* client.c */
int ac_client_listen(struct ac_guardian *guardian, struct ac_err *err);
void ac_client_close(struct ac_guardian *guardian, struct ac_client *client);
void ac_client_end(struct ac_client *client, const char *session_id, int cause, const char *report);
void ac_client_detach(struct ac_client *client);

/* adopt.c */
void ac_adopt(struct ac_guardian *guardian);
void ac_adopt_strays(struct ac_guardian *guardian);

/* leftover.c: access by ACL that is still given, by the notes of it, and to no session any more. */
void ac_leftovers_settle(struct ac_guardian *guardian);
void ac_leftovers_leave(struct ac_guardian *guardian);

/* bygone.c: puts the end on record of every session that the log has from before this boot and that
 * has none: its journal went with /run. */
void ac_bygone_end(const char *log_path);

/* ready.c: a newline to ready_fd (or -1), which is closed; to systemd, where it started us. */
void ac_ready_tell(int ready_fd);

#endif
