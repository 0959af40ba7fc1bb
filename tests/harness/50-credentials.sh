#!/bin/sh
# SPDX-License-Identifier: ISC
# Keys and logins: by environment, from a file, as a copied credential that comes back when renewed.
# And no key is anywhere but where it belongs: not in a log, in the terms, in an argv, in the journal.
# shellcheck source=tests/harness/needs.sh
. "$(dirname "$0")/needs.sh"
# shellcheck source=tests/lib/session.sh
. "$(dirname "$0")/../lib/session.sh"
# shellcheck source=tests/harness/lib.sh
. "$tree/tests/harness/lib.sh"
# shellcheck source=tests/harness/cell.sh
. "$tree/tests/harness/cell.sh"

profile=/etc/agentcell/harness.d/keeper.conf
write_profile() { # lines on stdin
	{
		printf '[harness]\ncommands = keeper\n'
		cat
	} >"$profile"
}

# A harness of our own: a shell, so that a test says what it does.
cp /bin/sh /usr/local/bin/keeper
keeper() { # script
	agent dev keeper -c "$1"
}

# --- from files
umask 077
mkdir -p /home/dev/.config/agentcell && echo "$cell_key" >/home/dev/.config/agentcell/key
mkdir -p /etc/agentcell/keys && echo "root-$cell_key" >/etc/agentcell/keys/ours
chown -R dev: /home/dev/.config
umask 022
write_profile <<-'END'
	[keys]
	THEIR_KEY = .config/agentcell/key
	OUR_KEY = /etc/agentcell/keys/ours
	NO_KEY = .config/agentcell/absent
END
equal "the user's key file" "$(keeper 'echo "$THEIR_KEY"' 2>/run/err)" "$cell_key"
refute 'not in the terms' grep -qF "$cell_key" /run/err
equal "the admin's key file" "$(keeper 'echo "$OUR_KEY"' 2>/dev/null)" "root-$cell_key"
equal 'an absent one sets nothing' "$(keeper 'echo "${NO_KEY-unset}"' 2>/dev/null)" unset
refuse() { # name text
	tap_output=$(keeper true 2>&1)
	equal "$1: refused" "$?" 1
	check "$1: it says why" sh -c 'echo "$1" | grep -q "$2"' sh "$tap_output" "$2"
	refute "$1: without the key" sh -c 'echo "$1" | grep -qF "$2"' sh "$tap_output" "$cell_key"
}
chmod 0640 /home/dev/.config/agentcell/key
refuse "a key that the group may read" 'mode 0600'
chmod 0600 /home/dev/.config/agentcell/key
chmod 0644 /etc/agentcell/keys/ours
refuse "an admin's key that all may read" 'mode 0600'
chmod 0600 /etc/agentcell/keys/ours
mv /home/dev/.config/agentcell/key /home/dev/.config/agentcell/mine
ln -s /etc/agentcell/keys/ours /home/dev/.config/agentcell/key
refuse "the admin's key by a link of the user's" 'Permission denied'
rm /home/dev/.config/agentcell/key
printf 'two words\n' >/home/dev/.config/agentcell/key
chown dev: /home/dev/.config/agentcell/key
chmod 0600 /home/dev/.config/agentcell/key
refuse 'a file that holds no key' 'one line'
mv /home/dev/.config/agentcell/mine /home/dev/.config/agentcell/key
check 'control: with the files as they were' keeper true

# --- a login that is copied
write_profile <<-'END'
	[home]
	credential = .tool/login.json
END
login=/home/dev/.tool/login.json
mkdir -m 0700 /home/dev/.tool && printf '{"token":"%s","expires":1}' "$cell_key" >"$login"
chmod 0600 "$login" && chown -R dev: /home/dev/.tool
before=$(stat -c '%i %Y' "$login")
equal 'it is in the home' "$(keeper 'cat ~/.tool/login.json' 2>/run/err)" "$(cat "$login")"
check 'the terms say so' grep -q 'credential *~/.tool/login.json' /run/err
equal 'private' "$(keeper 'stat -c "%a %U" ~/.tool/login.json' 2>/dev/null | sed 's/agentcell-.*/agent/')" '600 agent'
equal 'nothing was written back' "$(stat -c '%i %Y' "$login")" "$before"
keeper 'echo "{\"token\":\"renewed\",\"expires\":2}" >~/.tool/login.json' 2>/run/err
equal 'a renewed one comes back' "$(cat "$login")" '{"token":"renewed","expires":2}'
equal "hers, private" "$(stat -c '%a %U' "$login")" '600 dev'
check 'it says so' grep -q 'brought back' /run/err
keeper 'echo "{\"other\":\"account\"}" >~/.tool/login.json' 2>/run/err
equal 'another form does not' "$(cat "$login")" '{"token":"renewed","expires":2}'
check 'it says so' grep -q 'not brought back' /run/err
keeper 'rm ~/.tool/login.json; ln -s /etc/passwd ~/.tool/login.json' 2>/dev/null
equal 'a link does not' "$(cat "$login")" '{"token":"renewed","expires":2}'
keeper 'echo "{\"token\":\"stolen\",\"expires\":3}" >~/.tool/login.json; cat /home/dev/.ssh/id_ed25519; sleep 20' 2>/dev/null
equal 'not after an escape' "$(cat "$login")" '{"token":"renewed","expires":2}'
(
	wait_for 60 test -e /home/dev/project/started
	printf '{"token":"hers","expires":4}' >"$login"
	touch /home/dev/project/renewed
) &
keeper 'touch started; until [ -e renewed ]; do sleep 0.1; done
	echo "{\"token\":\"late\",\"expires\":5}" >~/.tool/login.json' 2>/run/err
equal "her own renewal in between wins" "$(cat "$login")" '{"token":"hers","expires":4}'
check 'it says so' grep -q 'changed during the session' /run/err
mv "$login" /home/dev/.tool/real.json && ln -s real.json "$login"
keeper 'echo "{\"token\":\"linked\",\"expires\":6}" >~/.tool/login.json' 2>/dev/null
equal 'through a link of hers' "$(cat /home/dev/.tool/real.json)" '{"token":"linked","expires":6}'
check 'which stays one' test -L "$login"
rm "$login" /home/dev/.tool/real.json
equal 'without a login nothing is copied' "$(keeper 'ls -A ~' 2>/dev/null)" ''

# --- nowhere else
cell_setup || {
	skip 'keys of real harnesses' 'needs tests/harness/00-packages.sh to have run'
	finish
}
cat >>/etc/sudoers.d/agents <<-'END'
	Defaults log_output, iolog_dir=/var/log/sudo-io
END
grep -rlF "$cell_key" /var/log /run --exclude=id_ed25519 2>/dev/null | grep -v '^/run/err$' >/run/found
equal 'control: not in a log so far' "$(cat /run/found)" ''
for harness in claude codex opencode; do
	project=/home/dev/$harness-project
	make_project dev "$project"
	mock_start "$tree/tests/harness/steps/work.json" "$project" "/run/$harness.log"
	cell_run "$harness" "$project" &
	running=$!
	: >/run/arguments
	while kill -0 "$running" 2>/dev/null; do
		cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' >>/run/arguments
		cp /run/agentcell/sessions/*/policy.json "/run/$harness.policy" 2>/dev/null
		sleep 0.1
	done
	wait "$running"
	equal "$harness: it worked" "$?" 0
	mock_stop
	check "$harness: control: the model got the key" grep -qF "${cell_key#"${cell_key%????????}"}" "/run/$harness.log"
	check "$harness: control: its arguments were seen" grep -q 'do-it' /run/arguments
	refute "$harness: no argv has it" grep -qF "$cell_key" /run/arguments
	refute "$harness: the terms have it not" grep -qF "$cell_key" "/run/$harness.err"
	refute "$harness: the policy has it not" grep -qF "$cell_key" "/run/$harness.policy"
	check "$harness: control: the policy was seen" grep -q '"plan"' "/run/$harness.policy"
done
check 'control: sudo kept its own log' test -d /var/log/sudo-io
grep -rlF "$cell_key" /var/log /run /var/lib/agentcell 2>/dev/null >/run/found
equal 'no log, journal or backup has it' "$(cat /run/found)" ''
finish
