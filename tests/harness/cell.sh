# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034,SC2154
# Harnesses inside the cell.  Source it after tests/lib/session.sh and lib.sh: installs the harnesses,
# declares the mock as an endpoint, as an admin would, and runs a harness as dev through sudo.

# Nothing is asked of a real resolver, and nothing but the mock can be reached.
cell_names() {
	sed -i 's/^hosts:.*/hosts: files/' /etc/nsswitch.conf
	: >/etc/resolv.conf
	sed -i '/^endpoints = /d' /etc/agentcell/harness.d/*.conf
}

cell_setup() {
	harness_install || return 77
	cell_names
	sed -i "/^\[firewall\]/a endpoints = 127.0.0.1:$mock_port" /etc/agentcell/agentcell.conf
	sed -i '/^check_for_update/i model = "mock-model"\nmodel_provider = "mock"' \
		/etc/agentcell/harness.d/files/codex-config.toml
	cat >>/etc/agentcell/harness.d/files/codex-config.toml <<-END

		[model_providers.mock]
		name = "mock"
		base_url = "http://127.0.0.1:$mock_port/v1"
		env_key = "CODEX_API_KEY"
		wire_api = "responses"
	END
}

cell_key=sk-canary-0123456789-$$-abcdefghij

# The environment of a person who uses these harnesses: her key, her base URL, nothing quiet.
cell_environment() { # harness
	case $1 in
	claude) echo "ANTHROPIC_BASE_URL=http://127.0.0.1:$mock_port ANTHROPIC_API_KEY=$cell_key" ;;
	codex) echo "CODEX_API_KEY=$cell_key" ;;
	opencode) echo "OPENAI_API_KEY=$cell_key OPENCODE_CONFIG_CONTENT={\"provider\":{\"mock\":{\"npm\":\"@ai-sdk/openai-compatible\",\"name\":\"Mock\",\"options\":{\"baseURL\":\"http://127.0.0.1:$mock_port/v1\",\"apiKey\":\"{env:OPENAI_API_KEY}\"},\"models\":{\"mock-model\":{\"name\":\"Mock\"}}}},\"model\":\"mock/mock-model\"}" ;;
	esac
}

cell_command() { # harness: headless
	case $1 in
	claude) echo "claude -p do-it" ;;
	codex) echo "codex exec --skip-git-repo-check do-it" ;;
	opencode) echo "opencode run do-it" ;;
	esac
}

# Runs it in dev's project directory; output in /run/<harness>.out and .err.
cell_run() { # harness directory [AGENTCELL_X=...]
	cell_run_harness=$1 cell_run_directory=$2
	shift 2
	# shellcheck disable=SC2046
	cell_run_as "$cell_run_harness" "$cell_run_directory" "$@" $(cell_command "$cell_run_harness")
}

cell_run_as() { # harness directory [AGENTCELL_X=...] command...
	cell_harness=$1 cell_directory=$2
	shift 2
	(
		export PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/dev USER=dev LOGNAME=dev LANG=C.UTF-8 LC_ALL=C.UTF-8 \
			TERM=xterm-256color
		# By the shell itself: an argument of env(1) could be read by others.
		for cell_variable in $(cell_environment "$cell_harness"); do
			export "${cell_variable?}"
		done
		cd "$cell_directory" && exec timeout "${CELL_TIMEOUT:-300}" setpriv --reuid dev --regid dev --init-groups \
			sudo -n -u agentcell-worker "$@" 8>&-
	) >"/run/$cell_harness.out" 2>"/run/$cell_harness.err" </dev/null
}

# Records of the last session in the log, one JSON object a line; without a log, something that is none.
cell_records() { # [event]
	[ -s "$json_log" ] || {
		echo 'no log'
		return
	}
	/usr/bin/python3 - "$json_log" "${1-}" <<-'END'
		import json, sys
		records = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
		last = records[-1].get("session_id") if records else None
		for record in records:
		    if record.get("session_id") == last and sys.argv[2] in ("", record.get("event")):
		        print(json.dumps(record))
	END
}

# Refusals that matter: all but of hosts that the profile tolerates, which lead to the own loopback.
cell_denials() {
	cell_records denied | grep -vE '"target": "(127\.0\.0\.1|0\.0\.0\.0)(:443)?"'
}
