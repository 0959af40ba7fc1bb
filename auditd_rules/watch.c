/* SPDX-License-Identifier: ISC */
/*
 * The hot thread: stream in, records to pending.c.  The guardian's side is in watch_door.c.
 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util.h"
#include "watch_parts.h"

#define BATCH 32
#define RECORD_SIZE 16384 /* the kernel's longest record is below 9 KiB */
#define STACK_SIZE (512u << 10)
#define PRIORITY 10 /* above every normal process, below what keeps the machine alive */
#define NICE (-15)
#define IDLE_MS 200

struct ac_slot *ac_slot_find(struct ac_watch *watch, uint32_t uid)
{
	return uid >= watch->first && uid <= watch->last ? watch->slot_of[uid - watch->first]
							 : NULL;
}

static bool put(int fd, const char *text)
{
	return pwrite(fd, text, 1, 0) == 1;
}

void ac_slot_freeze(struct ac_slot *slot, bool frozen)
{
	(void)put(slot->freeze_fd, frozen ? "1" : "0");
}

void ac_slot_kill(struct ac_slot *slot)
{
	(void)put(slot->freeze_fd, "1"); /* nothing runs on while the kill goes through the list */
	(void)put(slot->kill_fd, "1"); /* the guardian kills again, and waits until all are dead */
}

void ac_watch_notify(struct ac_watch *watch)
{
	uint64_t one = 1;

	(void)!write(watch->event_fd, &one, sizeof(one));
}

void ac_watch_kick(struct ac_watch *watch)
{
	uint64_t one = 1;

	(void)!write(watch->kick_fd, &one, sizeof(one));
}

static int make_lock(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;
	int rc = pthread_mutexattr_init(&attributes);

	if (!rc)
		rc = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (!rc)
		rc = pthread_mutex_init(mutex, &attributes);
	return rc;
}

struct ac_watch *ac_watch_create(uid_t first, uid_t last, struct ac_err *err)
{
	struct ac_watch *watch = calloc(1, sizeof(*watch));

	if (watch)
		watch->slot_of = calloc(last - first + 1, sizeof(struct ac_slot *));
	if (!watch || !watch->slot_of || make_lock(&watch->lock)) {
		if (watch)
			free(watch->slot_of);
		free(watch);
		ac_fail_errno(err, ENOMEM, "no memory for the audit stream");
		return NULL;
	}
	watch->first = first;
	watch->last = last;
	watch->source_fd = -1;
	watch->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->event_fd < 0 || watch->kick_fd < 0) {
		ac_fail_errno(err, errno, "eventfd");
		ac_watch_destroy(watch);
		return NULL;
	}
	return watch;
}

/* A mark: "... agentcell-mark=0123456789abcdef ..." in a user-space record that we sent ourselves. */
static void look_for_mark(struct ac_watch *watch, const struct ac_record *record)
{
	static const char name[] = "agentcell-mark=";
	const char *found = memmem(record->body.text, record->body.length, name, sizeof(name) - 1);
	uint64_t mark;

	if (!found ||
		(size_t)(record->body.text + record->body.length - found) < sizeof(name) - 1 + 16)
		return;
	if (ac_span_hex((struct ac_span){ found + sizeof(name) - 1, 16 }, &mark) &&
		mark == watch->expected_mark) {
		watch->seen_mark = mark;
		ac_watch_notify(watch);
	}
}

void ac_watch_record(struct ac_watch *watch, const struct ac_record *record)
{
	uint64_t missing;

	watch->stream.records++;
	if (record->type == AC_RECORD_DAEMON)
		return;
	missing = ac_serials_see(&watch->serials, record->serial);
	if (missing) {
		watch->stream.missing += missing;
		ac_watch_notify(watch);
	}
	if (record->type == AC_RECORD_CONFIG_CHANGE) {
		watch->stream.config_changes++;
		ac_watch_notify(watch);
	} else if (record->type == AC_RECORD_TRUSTED_APP) {
		look_for_mark(watch, record);
	} else {
		ac_pending_take(watch, record);
	}
}

struct buffers { /* static in the thread: 512 KiB, touched before the first record */
	char bytes[BATCH][RECORD_SIZE];
	struct iovec vector[BATCH];
	struct mmsghdr message[BATCH];
};

static void take_datagram(struct ac_watch *watch, const char *bytes, size_t length, bool cut)
{
	struct nlmsghdr header;
	struct ac_record record;

	if (cut || length < sizeof(header)) {
		watch->stream.missing++;
		return;
	}
	memcpy(&header, bytes, sizeof(header));
	if (!ac_record_parse(
		    header.nlmsg_type, bytes + NLMSG_HDRLEN, length - NLMSG_HDRLEN, &record))
		ac_watch_record(watch, &record);
}

/* False when there was nothing to read. */
static bool take_batch(struct ac_watch *watch, struct buffers *buffers)
{
	int count;

	if (watch->source_fd < 0 || watch->stream.closed)
		return false;
	if (watch->text)
		return ac_watch_take_text(watch);
	for (unsigned i = 0; i < BATCH; i++) {
		buffers->vector[i] = (struct iovec){ buffers->bytes[i], RECORD_SIZE };
		buffers->message[i].msg_hdr = (struct msghdr){ .msg_iov = &buffers->vector[i],
			.msg_iovlen = 1 };
	}
	count = recvmmsg(watch->source_fd, buffers->message, BATCH, MSG_DONTWAIT, NULL);
	if (count < 0 && errno == ENOBUFS) {
		watch->stream.overruns++;
		ac_watch_notify(watch);
		return true;
	}
	if (count < 0 && errno != EAGAIN && errno != EINTR) {
		watch->stream.closed = true;
		ac_watch_notify(watch);
	}
	for (int i = 0; i < count; i++)
		take_datagram(watch, buffers->bytes[i], buffers->message[i].msg_len,
			buffers->message[i].msg_hdr.msg_flags & MSG_TRUNC);
	return count == BATCH;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void tick(struct ac_watch *watch, uint64_t *last)
{
	uint64_t now = now_ms(), missing;

	if (watch->pulse)
		atomic_fetch_add(&watch->pulse->watch, 1);
	if (now - *last < 1000)
		return;
	*last = now;
	missing = ac_serials_tick(&watch->serials);
	if (missing) {
		watch->stream.missing += missing;
		ac_watch_notify(watch);
	}
}

static void *run(void *argument)
{
	static struct buffers buffers;
	struct ac_watch *watch = argument;
	uint64_t last = now_ms(), drained;
	bool stop = false, more = false;

	if (!watch->realtime) /* this thread only: Linux counts niceness per thread */
		(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	memset(&buffers, 0, sizeof(buffers));
	while (!stop) {
		struct pollfd fds[2] = { { watch->kick_fd, POLLIN, 0 }, { -1, POLLIN, 0 } };

		pthread_mutex_lock(&watch->lock);
		fds[1].fd = watch->stream.closed ? -1 : watch->source_fd;
		pthread_mutex_unlock(&watch->lock);
		if (!more)
			(void)poll(fds, 2, IDLE_MS);
		if (fds[0].revents)
			(void)!read(watch->kick_fd, &drained, sizeof(drained));
		pthread_mutex_lock(&watch->lock);
		stop = watch->stop;
		more = take_batch(watch, &buffers);
		tick(watch, &last);
		pthread_mutex_unlock(&watch->lock);
	}
	return NULL;
}

static int create_thread(struct ac_watch *watch, bool realtime)
{
	struct sched_param parameters = { .sched_priority = PRIORITY };
	pthread_attr_t attributes;
	int rc = pthread_attr_init(&attributes);

	if (rc)
		return rc;
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	if (realtime) {
		pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
		pthread_attr_setschedparam(&attributes, &parameters);
	}
	watch->realtime = realtime;
	rc = pthread_create(&watch->thread, &attributes, run, watch);
	pthread_attr_destroy(&attributes);
	return rc;
}

int ac_watch_start(struct ac_watch *watch, struct ac_pulse *pulse, struct ac_err *err)
{
	int rc;

	watch->pulse = pulse;
	rc = create_thread(watch, true);
	if (rc == EPERM)
		rc = create_thread(watch, false);
	if (rc)
		return ac_fail_errno(err, rc, "start the thread that reads the audit stream");
	watch->running = true;
	return 0;
}

void ac_watch_destroy(struct ac_watch *watch)
{
	if (!watch)
		return;
	if (watch->running) {
		pthread_mutex_lock(&watch->lock);
		watch->stop = true;
		pthread_mutex_unlock(&watch->lock);
		ac_watch_kick(watch);
		pthread_join(watch->thread, NULL);
	}
	for (uid_t uid = watch->first; uid <= watch->last; uid++)
		free(watch->slot_of[uid - watch->first]);
	free(watch->slot_of);
	if (watch->source_fd >= 0)
		close(watch->source_fd);
	if (watch->event_fd >= 0)
		close(watch->event_fd);
	if (watch->kick_fd >= 0)
		close(watch->kick_fd);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}
