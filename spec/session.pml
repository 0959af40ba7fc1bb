/* SPDX-License-Identifier: ISC */
/*
 * Sessions, their owners, the agents and everything that may go wrong.
 *
 * What is checked here is the code that ships: where a session goes next, what a refused journal
 * write means and whether a journal conforms is answered by lifecycle.o and drive.o, linked into
 * the verifier.  The model adds what surrounds them: who holds a session's lock, what each act does
 * to the world, processes that die, fork, exit and escape, and a uid that is used again.
 *
 * All state is in Promela variables; the C code keeps none.  One owner process per session stands
 * for whoever holds the lock, sudo's process or the listener.
 */
#ifndef N
#define N 1 /* sessions */
#endif
#ifndef U
#define U 1 /* uids */
#endif
#ifndef FAULTS
#define FAULTS 2 /* acts that fail, journal writes refused, telemetry lost */
#endif
#ifndef CRASHES
#define CRASHES 2 /* deaths of sudo's processes and of the listener */
#endif

/* The header's enums; init compares. */
#define PLANNED 0
#define POLICY 1
#define BACKUP 2
#define ACCOUNT 3
#define FIREWALL 4
#define MONITOR 5
#define SWITCH 6
#define RUNNING 7
#define TERMINATE 8
#define DRAIN 9
#define CLEANUP 10
#define ENDED 11
#define NONE 0
#define WALL_CLOCKED 2
#define REFUSED 3
#define ABORTED 4
#define BAD 5 /* lost */
#define ESCAPED 6
#define OK 0
#define FAIL 1
#define EXIT 2
#define WALL_CLOCK 3
#define REFUSE 4
#define LOST 5
#define ESCAPE 6
#define RESTART 7

#define NOBODY 0
#define SUDO 1
#define LISTENER 2

byte state[N], tries[N], cause[N]; /* in the memory of whoever drives */
byte disk_state[N], disk_tries[N], disk_cause[N]; /* the journal's last record */
byte holder[N]; /* of the journal's lock */
bit sudo_up[N], handed[N]; /* handed: sudo's process let the lock go at switch */
bit connected[N]; /* sudo's connection to the listener, on which it registered */
bit armed[N]; /* sudo's process has offered the session on it */
bit taken[N]; /* the listener said ARMED */
bit forked[N]; /* sudo's process has forked, or will not any more */
byte processes[N];
bit released[N]; /* the barrier is open */
bit policy[N], backup[N], firewall[N], monitor[N], telemetry[N], clock[N];
byte uid[N]; /* 0: none yet */
byte lease[U + 1]; /* session + 1 */
bit escaped[N], queued[N], noted[N], blind[N], orphan[N];
bit listener_up = 1;
byte faults = FAULTS, crashes = CRASHES;

#include "acts.pml"

/* Whoever holds the lock of session s. */
proctype owner(byte s)
{
	byte event, refuse, u, other;
	bit pending, acted, conforms, stuck; /* pending: an event waits for its step */

	do
	:: atomic { disk_state[s] == ENDED -> holder[s] = NOBODY; break }

	/* Taking over what nobody drives. */
	:: atomic { holder[s] == NOBODY && disk_state[s] != ENDED && listener_up ->
			holder[s] = LISTENER; load(s); acted = 0;
			if
			:: armed[s] && !taken[s] -> taken[s] = 1; pending = 0
			:: else -> pending = 1; event = RESTART; telemetry[s] = 1
			fi
		}
	:: atomic { holder[s] == NOBODY && disk_state[s] != ENDED && sudo_up[s] && handed[s] &&
			(!listener_up || !connected[s]) ->
			holder[s] = SUDO; load(s); acted = 0;
			forked[s] = 1; /* the process that would fork is busy with this now */
			pending = 1; event = LOST
		}

	/* Handing over: the lock first, then the offer. */
	:: atomic { drives(s) && holder[s] == SUDO && state[s] == SWITCH && cause[s] == NONE ->
			holder[s] = NOBODY; handed[s] = 1
		}
	:: atomic { handed[s] && !armed[s] && !taken[s] && sudo_up[s] && connected[s] &&
			listener_up && holder[s] == NOBODY && disk_state[s] == SWITCH ->
			armed[s] = 1
		}

	/* Acts, and the two states of set-up without one. */
	:: atomic { drives(s) && pending_cause(s) -> event = FAIL; pending = 1 }
	:: atomic { drives(s) && state[s] == PLANNED && cause[s] == NONE -> event = OK; pending = 1 }
	:: atomic { drives(s) && state[s] != PLANNED && state[s] != RUNNING && !pending_cause(s) &&
			(state[s] != SWITCH || (holder[s] == LISTENER &&
				(processes[s] > 0 || forked[s] || !sudo_up[s]))) ->
			if
			:: effect(s)
			:: faults > 0 -> faults--; event = FAIL
			:: faults > 0 -> faults--; effect(s);
				if
				:: event == OK -> event = FAIL
				:: else -> skip
				fi
			:: faults > 0 && state[s] < SWITCH -> faults--; event = REFUSE
			fi;
			acted = 1; pending = 1
		}
	:: atomic { holder[s] != NOBODY && pending ->
			step(s); pending = 0;
			if
			:: disk_state[s] == ENDED -> check_ended(s)
			:: else -> skip
			fi;
			if
			:: stuck && holder[s] == SUDO -> /* leaves it to the listener */
				holder[s] = NOBODY; sudo_up[s] = 0; orphan[s] = 1
			:: else -> skip
			fi;
			stuck = 0
		}

	/* Running. */
	:: atomic { drives(s) && holder[s] == LISTENER && state[s] == RUNNING && cause[s] == NONE &&
			!released[s] ->
			must(disk_state[s] == RUNNING, "running is on disk before the barrier opens");
			cell_stands(s);
			released[s] = 1;
			printf("  session %d, listener: opens the barrier\n", s + 1)
		}
	:: atomic { drives(s) && holder[s] == LISTENER && state[s] == RUNNING &&
			(queued[s] || processes[s] == 0 || clock[s] || !telemetry[s] || !sudo_up[s]) ->
			if
			:: queued[s] -> queued[s] = 0; noted[s] = 1; event = ESCAPE
			:: processes[s] == 0 -> event = EXIT
			:: clock[s] -> event = WALL_CLOCK
			:: !telemetry[s] || !sudo_up[s] -> event = LOST
			fi;
			pending = 1
		}
	od
}

/* sudo's fork, the launcher at the barrier, and the agent behind it. */
proctype agent(byte s)
{
	do
	:: atomic { taken[s] && sudo_up[s] && !forked[s] ->
			forked[s] = 1;
			if
			:: must(lease[uid[s]] == s + 1, "no launcher starts under a uid that was given back");
				processes[s] = 1;
				printf("  session %d, sudo: forks the launcher\n", s + 1)
			:: faults > 0 -> faults--
			fi
		}
#ifdef BROKEN_SUDO_RELEASES
	:: atomic { processes[s] > 0 && !released[s] && sudo_up[s] ->
			released[s] = 1;
			printf("  session %d, sudo: opens the barrier\n", s + 1)
		}
#endif
	:: atomic { processes[s] > 0 && !released[s] && !armed[s] -> processes[s] = 0 }
	:: atomic { processes[s] > 0 && released[s] ->
			cell_stands(s);
			if
			:: processes[s] < 2 -> processes[s]++
			:: processes[s]--;
				printf("  session %d, agent: a process exits\n", s + 1)
			:: !clock[s] -> clock[s] = 1
			:: !escaped[s] ->
				escaped[s] = 1;
				printf("  session %d, agent: escapes\n", s + 1);
				if
				:: listener_up && telemetry[s] && holder[s] == LISTENER -> queued[s] = 1
				:: else -> blind[s] = 1
				fi
			fi
		}
	:: atomic { disk_state[s] == ENDED && (forked[s] || !taken[s] || !sudo_up[s]) -> break }
	od
}

inline lose_queue(s)
{
	if
	:: escaped[s] && !noted[s] -> blind[s] = 1
	:: else -> skip
	fi;
	queued[s] = 0
}

proctype trouble()
{
	byte s;

end:	do
	:: atomic { crashes > 0 && listener_up ->
			crashes--; listener_up = 0;
			printf("  the listener dies\n");
			s = 0;
			do
			:: s < N ->
				lose_queue(s);
				orphan[s] = orphan[s] || (handed[s] && disk_state[s] != ENDED);
				connected[s] = 0; armed[s] = 0;
				if
				:: holder[s] == LISTENER -> holder[s] = NOBODY
				:: else -> skip
				fi;
				s++
			:: else -> break
			od;
			s = 0
		}
	:: atomic { crashes > 0 ->
			if
			:: s = 0
			:: N > 1 -> s = N - 1
			fi;
			if
			:: sudo_up[s] && disk_state[s] != ENDED ->
				crashes--; sudo_up[s] = 0; orphan[s] = 1;
				printf("  session %d, sudo: dies\n", s + 1);
				if
				:: holder[s] == SUDO -> holder[s] = NOBODY
				:: else -> skip
				fi
			:: else -> skip
			fi;
			s = 0
		}
	:: atomic { faults > 0 ->
			if
			:: s = 0
			:: N > 1 -> s = N - 1
			fi;
			if
			:: telemetry[s] && holder[s] == LISTENER && disk_state[s] != ENDED ->
				faults--; telemetry[s] = 0; lose_queue(s);
				printf("  session %d: telemetry is lost\n", s + 1)
			:: else -> skip
			fi;
			s = 0
		}
	od
}

/* systemd: the one fairness assumption besides "who can go on, goes on". */
proctype restart()
{
end:	do
	:: atomic { !listener_up -> listener_up = 1; printf("  the listener is started again\n") }
	od
}

init
{
	byte i;

	c_code {
		static const int theirs[] = { AC_STATE_PLANNED, AC_STATE_SWITCH, AC_STATE_RUNNING,
			AC_STATE_TERMINATE, AC_STATE_DRAIN, AC_STATE_CLEANUP, AC_STATE_ENDED,
			AC_STATE_COUNT, AC_CAUSE_NONE, AC_CAUSE_WALL_CLOCK, AC_CAUSE_REFUSED,
			AC_CAUSE_ABORTED, AC_CAUSE_LOST, AC_CAUSE_ESCAPE, AC_CAUSE_COUNT, AC_EVENT_OK,
			AC_EVENT_FAIL, AC_EVENT_EXIT, AC_EVENT_WALL_CLOCK, AC_EVENT_REFUSE,
			AC_EVENT_LOST, AC_EVENT_ESCAPE, AC_EVENT_RESTART, AC_EVENT_COUNT };
		static const int ours[] = { 0, 6, 7, 8, 9, 10, 11, 12, 0, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3,
			4, 5, 6, 7, 8 };

		for (unsigned i_ = 0; i_ < sizeof(ours) / sizeof(ours[0]); i_++)
			if (theirs[i_] != ours[i_]) {
				printf("session.pml and lifecycle.h disagree on number %u\n", i_);
				exit(2);
			}
	};
	atomic {
		do
		:: i < N ->
			holder[i] = SUDO; sudo_up[i] = 1;
			run owner(i); run agent(i);
			i++
		:: else -> break
		od;
		run trouble();
#ifndef BROKEN_NO_RESTART
		run restart();
#endif
		i = 0
	}
}

/* Liveness, for session 1, under weak fairness. */
ltl set_up_ends { /* no set-up hangs: it leads to running or out */
	[] (disk_state[0] <= SWITCH -> <> (disk_state[0] >= RUNNING))
}
ltl way_out_ends { /* whatever is on its way out ends */
	[] (disk_state[0] >= TERMINATE -> <> (disk_state[0] == ENDED))
}
ltl escape_ends { /* an escape leads to death and to the end */
	[] (escaped[0] -> <> (disk_state[0] == ENDED && processes[0] == 0))
}
ltl orphan_ends { /* the death of sudo's process or of the listener leads to the end */
	[] (orphan[0] -> <> (disk_state[0] == ENDED && processes[0] == 0))
}
ltl blind_agent_dies { /* an agent whose telemetry is lost dies */
	[] ((released[0] && !telemetry[0]) -> <> (processes[0] == 0))
}
