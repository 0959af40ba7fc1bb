/* SPDX-License-Identifier: ISC */
/*
 * The threads that read the stream: the reader, which sleeps until there is something, and its relief.
 *
 * A kernel without preemption (preempt=none, the default of many servers) lets no other thread run on
 * a processor while kauditd empties a long queue there, whatever its priority: a reader that was woken
 * on that processor waits for the end of the flood that it should end.  So the relief is bound to one
 * processor and the reader to the others, and it looks by the clock: one of the two always runs.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "watch_parts.h"

#define BATCH 32
#define RECORD_SIZE 16384 /* the kernel's longest record is below 9 KiB */
#define STACK_SIZE (512u << 10)
#define PRIORITY 10 /* above every normal process, below what keeps the machine alive */
#define NICE (-15)
#define IDLE_MS 200

#define RELIEF_MS 10 /* each look costs some 30 us of a virtual machine's processor */
#define RELIEF_FLOW_MS 2 /* while FLOW records come between two looks */
#define FLOW 16
#define PATIENCE_US 2000 /* with the lock */
#define STEP_US 100

static struct { /* 512 KiB, touched before the first record; used with the lock held */
	char bytes[BATCH][RECORD_SIZE];
	struct iovec vector[BATCH];
	struct mmsghdr message[BATCH];
} buffers;

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

/* False when there was nothing (more) to read. */
static bool take_batch(struct ac_watch *watch)
{
	int count;

	if (watch->source_fd < 0 || watch->stream.closed)
		return false;
	if (watch->text)
		return ac_watch_take_text(watch);
	for (unsigned i = 0; i < BATCH; i++) {
		buffers.vector[i] = (struct iovec){ buffers.bytes[i], RECORD_SIZE };
		buffers.message[i].msg_hdr = (struct msghdr){ .msg_iov = &buffers.vector[i],
			.msg_iovlen = 1 };
	}
	count = recvmmsg(watch->source_fd, buffers.message, BATCH, MSG_DONTWAIT, NULL);
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
		take_datagram(watch, buffers.bytes[i], buffers.message[i].msg_len,
			buffers.message[i].msg_hdr.msg_flags & MSG_TRUNC);
	return count == BATCH;
}

static void tick(struct ac_watch *watch)
{
	uint64_t missing;

	if (watch->pulse)
		atomic_fetch_add(&watch->pulse->watch, 1);
	if (watch->turn_ms - watch->ticked_ms < 1000)
		return;
	watch->ticked_ms = watch->turn_ms;
	missing = ac_serials_tick(&watch->serials);
	if (missing) {
		watch->stream.missing += missing;
		ac_watch_notify(watch);
	}
}

/* True when there is more to read. */
static bool take_turn(struct ac_watch *watch)
{
	bool more;

	watch->turn_ms = (uint64_t)ac_clock_ms(CLOCK_MONOTONIC);
	/* The clock of the records. */
	watch->wall_ms = (uint64_t)ac_clock_ms(CLOCK_REALTIME_COARSE);
	more = take_batch(watch);
	ac_pace_turn(watch);
	tick(watch);
	return more;
}

static void lower_niceness(const struct ac_watch *watch)
{
	if (!watch->realtime) /* this thread only: Linux counts niceness per thread */
		(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
}

static bool is_paced(const struct ac_watch *watch)
{
	return watch->held_since || watch->on_probation;
}

static void *read_stream(void *argument)
{
	struct ac_watch *watch = argument;
	bool stop = false, more = false;
	uint64_t drained;

	lower_niceness(watch);
	while (!stop) {
		struct pollfd fds[2] = { { watch->kick_fd, POLLIN, 0 }, { -1, POLLIN, 0 } };
		int wait_ms;

		pthread_mutex_lock(&watch->lock);
		fds[1].fd = watch->stream.closed ? -1 : watch->source_fd;
		wait_ms = is_paced(watch) ? AC_PACE_POLL_MS : IDLE_MS;
		pthread_mutex_unlock(&watch->lock);
		if (!more && poll(fds, 2, wait_ms) > 0 && fds[0].revents)
			(void)!read(watch->kick_fd, &drained, sizeof(drained));
		pthread_mutex_lock(&watch->lock);
		stop = watch->stop;
		more = take_turn(watch);
		pthread_mutex_unlock(&watch->lock);
	}
	return NULL;
}

/* Whoever has the lock has it for some 100 us, unless its processor stands still.  Not a timed lock: that
 * one spins on for an owner that the kernel believes to be running. */
static void lock_soon(struct ac_watch *watch)
{
	const struct timespec step = { .tv_nsec = STEP_US * 1000 };

	for (unsigned i = 0; i < PATIENCE_US / STEP_US; i++) {
		if (!pthread_mutex_trylock(&watch->lock))
			return;
		(void)nanosleep(&step, NULL);
	}
	ac_pace_alarm(watch);
	pthread_mutex_lock(&watch->lock);
	ac_pace_alarmed(watch);
}

static void *relieve(void *argument)
{
	struct ac_watch *watch = argument;
	bool stop = false, more = false;
	int wait_ms = RELIEF_MS;
	uint64_t drained, seen = 0;

	lower_niceness(watch);
	while (!stop) {
		struct pollfd fd = { watch->relief_fd, POLLIN, 0 };

		if (!more && poll(&fd, 1, wait_ms) > 0)
			(void)!read(watch->relief_fd, &drained, sizeof(drained));
		lock_soon(watch);
		stop = watch->stop;
		more = take_turn(watch);
		wait_ms = watch->stream.records - seen < FLOW && !is_paced(watch) ? RELIEF_MS
										  : RELIEF_FLOW_MS;
		if (!watch->sessions)
			wait_ms = -1; /* until one begins */
		seen = watch->stream.records;
		pthread_mutex_unlock(&watch->lock);
	}
	return NULL;
}

/* The first processor is the relief's, the others are the reader's; false: there is only one. */
static bool share_processors(cpu_set_t *reader, cpu_set_t *relief)
{
	CPU_ZERO(relief);
	if (sched_getaffinity(0, sizeof(*reader), reader) || CPU_COUNT(reader) < 2)
		return false;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, reader)) {
			CPU_CLR(cpu, reader);
			CPU_SET(cpu, relief);
			return true;
		}
	return false;
}

static int create_thread(
	struct ac_watch *watch, pthread_t *thread, void *(*work)(void *), const cpu_set_t *cpus)
{
	struct sched_param parameters = { .sched_priority = PRIORITY };
	pthread_attr_t attributes;
	int rc = pthread_attr_init(&attributes);

	if (rc)
		return rc;
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	if (watch->realtime) {
		pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
		pthread_attr_setschedparam(&attributes, &parameters);
	}
	if (cpus)
		rc = pthread_attr_setaffinity_np(&attributes, sizeof(*cpus), cpus);
	if (!rc)
		rc = pthread_create(thread, &attributes, work, watch);
	pthread_attr_destroy(&attributes);
	return rc;
}

int ac_watch_start(struct ac_watch *watch, struct ac_pulse *pulse, struct ac_err *err)
{
	cpu_set_t reader, relief;
	bool two = share_processors(&reader, &relief);
	int rc;

	watch->pulse = pulse;
	watch->ticked_ms = (uint64_t)ac_clock_ms(CLOCK_MONOTONIC);
	memset(&buffers, 0, sizeof(buffers));
	watch->realtime = true;
	rc = create_thread(watch, &watch->reader, read_stream, two ? &reader : NULL);
	if (rc == EPERM) {
		watch->realtime = false;
		rc = create_thread(watch, &watch->reader, read_stream, two ? &reader : NULL);
	}
	if (rc)
		return ac_fail_errno(err, rc, "start the thread that reads the audit stream");
	watch->running = true;
	if (two)
		rc = create_thread(watch, &watch->relief, relieve, &relief);
	if (rc)
		return ac_fail_errno(
			err, rc, "start the second thread that reads the audit stream");
	watch->relieved = two;
	return 0;
}

void ac_readers_stop(struct ac_watch *watch)
{
	if (!watch->running)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->stop = true;
	pthread_mutex_unlock(&watch->lock);
	ac_watch_kick(watch);
	pthread_join(watch->reader, NULL);
	if (watch->relieved)
		pthread_join(watch->relief, NULL);
}
