/* SPDX-License-Identifier: ISC */
/*
 * What the processes of session.pml do in one atomic step: the acts and their effects, and the step
 * of the shipped driver, called through C.
 */
c_decl {
\#include "drive.h"

	static int move_refuse, move_refused, move_written;
	static struct ac_life move_record;

	static int move_journal(void *world, struct ac_life life)
	{
		(void)world;
		if (move_refuse > move_refused) {
			move_refused++;
			return -1;
		}
		move_written = 1;
		move_record = life;
		return 0;
	}

	/* The shipped driver's step; the first `refuse` writes that it tries are refused. */
	static int move(struct ac_life *life, int event, int refuse)
	{
		struct ac_drive_ops ops = { 0, move_journal, 0 };

		move_refuse = refuse;
		move_refused = move_written = 0;
		return ac_drive_move(life, &ops, 0, (enum ac_life_event)event);
	}

	static const char *const owner_names[] = { "nobody", "sudo", "listener" };
	static const char *const event_names[] = { "ok", "fail", "exit", "wall clock", "refuse",
		"lost", "escape", "restart" };
}

/* A claim: what broke is said in words. */
#define must(condition, words) \
	if \
	:: (condition) -> skip \
	:: else -> printf("  BROKEN: "); printf(words); printf("\n"); assert(false) \
	fi

#define pending_cause(s) (state[s] <= RUNNING && cause[s] != NONE)
#define drives(s) (holder[s] != NOBODY && !pending && state[s] != ENDED)

inline load(s)
{
	state[s] = disk_state[s];
	tries[s] = disk_tries[s];
	cause[s] = disk_cause[s];
}

/* What must hold whenever an agent does anything, or is let go. */
inline cell_stands(s)
{
	must(policy[s] && backup[s] && firewall[s] && monitor[s],
		"an agent lives only with policy, backup, firewall and registration");
	must(uid[s] != 0 && lease[uid[s]] == s + 1, "an agent lives only under a leased uid");
}

inline check_ended(s)
{
	must(processes[s] == 0 && !firewall[s] && !policy[s] && !monitor[s],
		"nothing of the cell is left at the end");
	must(uid[s] == 0 || lease[uid[s]] != s + 1, "the uid is given back at the end");
	must(disk_cause[s] != NONE, "every end has a cause");
	must(!released[s] || (disk_cause[s] != REFUSED && disk_cause[s] != ABORTED),
		"refused and aborted mean that no agent ran");
	must(released[s] || disk_cause[s] > WALL_CLOCKED,
		"clean and wall clock mean that an agent ran");
	must(!escaped[s] || disk_cause[s] >= BAD, "no escape is recorded as clean");
	must(!escaped[s] || noted[s] || blind[s], "an escape is noted if anyone could see it");
	must(!escaped[s] || blind[s] || orphan[s] || disk_cause[s] == ESCAPED,
		"an escape is recorded as an escape unless its record or its witness was lost");
}

/* A session's act by its holder: sets event and makes the effect. */
inline effect(s)
{
	must(state[s] == disk_state[s] || state[s] == TERMINATE,
		"the journal names an act before it is done, but for the kill");
	must(state[s] > RUNNING || cause[s] == NONE, "no set-up act once there is a cause to end");
	event = OK;
	if
	:: state[s] == POLICY -> policy[s] = 1
	:: state[s] == BACKUP -> must(policy[s], "no backup before the policy"); backup[s] = 1
	:: state[s] == ACCOUNT -> must(backup[s], "no account before the backup"); take_uid(s)
	:: state[s] == FIREWALL -> must(lease[uid[s]] == s + 1, "no firewall entry before the uid"); firewall[s] = 1
	:: state[s] == MONITOR ->
		must(firewall[s], "no registration before the firewall");
		if
		:: listener_up -> monitor[s] = 1; telemetry[s] = 1; connected[s] = 1
		:: else -> event = FAIL
		fi
	:: state[s] == SWITCH -> /* the launcher has reported, or never will */
		must(holder[s] == LISTENER, "only the listener switches");
		if
		:: processes[s] > 0 -> skip
		:: else -> event = FAIL
		fi
	:: state[s] == TERMINATE ->
		processes[s] = 0;
#ifndef BROKEN_LATE_FORK
		/* Seen dead, and sudo's process cannot bring forth another. */
		if
		:: taken[s] && sudo_up[s] && !forked[s] && holder[s] == LISTENER -> event = FAIL
		:: else -> skip
		fi
#endif
	:: state[s] == DRAIN ->
		if
		:: holder[s] == SUDO || !telemetry[s] -> event = LOST
		:: else ->
			if
			:: queued[s] -> queued[s] = 0; noted[s] = 1; event = ESCAPE
			:: else -> skip
			fi
		fi
	:: state[s] == CLEANUP ->
		must(processes[s] == 0, "nothing is released while a process is left");
		must(!queued[s], "no exit is believed before the queue is drained");
		firewall[s] = 0; monitor[s] = 0; policy[s] = 0;
		if
		:: uid[s] != 0 && lease[uid[s]] == s + 1 -> lease[uid[s]] = 0
		:: else -> skip
		fi
	fi
}

/* The uid: its own lease again, or one that nobody has and no process runs under. */
inline take_uid(s)
{
	if
	:: uid[s] != 0 && lease[uid[s]] == s + 1 -> skip
	:: else ->
		u = 1;
		do
		:: u <= U && lease[u] != 0 -> u++
		:: u <= U && lease[u] == 0 ->
			other = 0;
			do
			:: other < N ->
				must(uid[other] != u || processes[other] == 0,
					"no uid is leased while a process runs under it");
				other++
			:: else -> break
			od;
			lease[u] = s + 1; uid[s] = u;
			break
		:: else -> event = FAIL; break
		od;
		u = 0; other = 0
	fi
}

/* The shipped step: journals where the event leads, and goes there. */
inline step(s)
{
	if
	:: refuse = 0
	:: faults > 0 -> refuse = 1
	:: faults > 1 -> refuse = 2
	fi;
	c_code {
		int s_ = Powner->s;
		struct ac_life life = { now.state[s_], now.tries[s_], now.cause[s_] };
		struct ac_life disk = { now.disk_state[s_], now.disk_tries[s_], now.disk_cause[s_] };
		struct ac_life before = life;
		int rc = move(&life, Powner->event, Powner->refuse);

		now.state[s_] = life.state;
		now.tries[s_] = life.tries;
		now.cause[s_] = life.cause;
		now.faults -= move_refused;
		Powner->conforms = 1;
		if (move_written) {
			Powner->conforms = ac_life_conforms(disk, move_record) != 0;
			now.disk_state[s_] = move_record.state;
			now.disk_tries[s_] = move_record.tries;
			now.disk_cause[s_] = move_record.cause;
		}
		Powner->stuck = rc < 0 || (Powner->acted && ac_life_is_same(before, life));
	};
	must(conforms, "each record of a journal follows from the one before");
	told(s);
	acted = 0; event = 0; refuse = 0; conforms = 0
}

inline told(s)
{
	c_code {
		int s_ = Powner->s;

		if (readtrail)
			printf("  session %d, %s: %s%s -> %s, %d tries, cause %s%s\n", s_ + 1,
				owner_names[now.holder[s_]], event_names[Powner->event],
				Powner->refuse ? " (writes refused)" : "",
				ac_state_name(now.state[s_]), now.tries[s_],
				ac_cause_name(now.cause[s_]), move_written ? "" : ", unwritten");
	}
}
