#!/bin/sh
# SPDX-License-Identifier: ISC
# A recorded stream, judged again, gives the verdicts that the listener gave in life.
# shellcheck source=tests/audit/lib.sh
. "$(dirname "$0")/lib.sh"

listener_start
cp "$attack" /home/dev/project/attack
"$build/audit/record" >/run/stream 2>&1 8>&- &
recorder=$!
wait_for 20 grep -q recording /run/stream
i=0
for words in 'plain /home/dev/.ssh/id_ed25519' 'plain /srv' 'execute /usr/bin/sudo' 'mount /tmp' \
	'create /usr/lib/x' 'link /home/dev/.ssh/id_ed25519'; do
	i=$((i + 1))
	mkdir -p "/run/policy.$i"
	# shellcheck disable=SC2086
	run -P "/run/policy.$i" -u "7101$i" -w 1 -- ./attack $words
	echo "$status" >"/run/policy.$i/status"
done
kill "$recorder"
wait "$recorder"
check 'something was recorded' test "$(wc -l </run/stream)" -gt 100

for directory in /run/policy.*; do
	id=$(sed -n 's/.*"session_id": *"\([0-9a-f]*\)".*/\1/p' "$directory/policy.json" | head -1)
	[ -n "$id" ] || id=$(grep -o '[0-9a-f]\{12\}' "$directory/policy.json" | head -1)
	pid=$(grep "\"running\".*$id" "$json_log" | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
	"$build/agentcelld" --replay /run/stream --policy "$directory" --launcher "$pid" >/run/again
	equal "replay of $id ends" "$?" 0
	# What the log has: serial, verdict, class; of what had to be resolved only the serial.
	grep "$id" "$json_log" | grep -E '"event":"(denied|escape)"' |
		sed -n 's/.*"event":"\([a-z]*\)".*"class":"\([a-z]*\)".*"serial":\([0-9]*\).*/\3 \1 \2/p' |
		sort >/run/life
	awk 'NR == FNR { life[$1] = $2 " " $3; next }
		{ again[$1] = $2 " " $3; escaped += $2 == "escape" && ($1 in life) }
		END {
			for (s in life)
				if (again[s] != life[s] && again[s] !~ /^resolve/) { print "life", s, life[s], "again", again[s]; bad = 1 }
			for (s in again)
				if (!(s in life) && again[s] ~ /^denied/) { print "new", s, again[s]; bad = 1 }
			exit bad
		}' /run/life /run/again >/run/difference
	equal "replay of $id: the same verdicts" "$?$(cat /run/difference)" 0
	case $(cat "$directory/status") in
	"$escape") check "replay of $id: something was judged" test -s /run/again ;;
	esac
done
check 'nothing is left' nothing_left
listener_stop
finish
