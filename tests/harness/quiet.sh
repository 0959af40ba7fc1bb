# SPDX-License-Identifier: ISC
# shellcheck shell=sh disable=SC2034,SC2154
# How each harness is run outside a cell: as alice, with a home of its own, told by hand what inside
# the cell its profile (conf/harness.d) says.

quiet_codex_config() {
	cat <<-END
		model = "mock-model"
		model_provider = "mock"
		approval_policy = "never"
		sandbox_mode = "danger-full-access"
		check_for_update_on_startup = false
		[model_providers.mock]
		name = "mock"
		base_url = "http://127.0.0.1:$mock_port/v1"
		env_key = "MOCK_KEY"
		wire_api = "responses"
		[analytics]
		enabled = false
		[otel]
		metrics_exporter = "none"
		exporter = "none"
		[features]
		plugins = false
		apps = false
		daemon_auto_start = false
	END
}

quiet_opencode_config() {
	cat <<-END
		{"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"Mock",
		"options":{"baseURL":"http://127.0.0.1:$mock_port/v1","apiKey":"dummy"},
		"models":{"mock-model":{"name":"Mock"}}}},"model":"mock/mock-model","permission":"allow"}
	END
}

# As a full-screen program in tmux (tui.sh), with the files that its profile would place.
quiet_screen() { # harness home project
	quiet_harness=$1 quiet_home=$2 quiet_project=$3
	quiet_files=$tree/conf/harness.d/files
	case $quiet_harness in
	claude)
		mkdir -p /etc/claude-code
		cp "$quiet_files/claude-settings.json" /etc/claude-code/managed-settings.json
		sed "s@{cwd}@$quiet_project@; s@{tail:ANTHROPIC_API_KEY}@789abcdefghijklmnopq@" \
			"$quiet_files/claude.json" >"$quiet_home/.claude.json"
		set -- ANTHROPIC_BASE_URL="http://127.0.0.1:$mock_port" ANTHROPIC_API_KEY=sk-ant-0123456789abcdefghijklmnopq
		;;
	codex)
		mkdir -p "$quiet_home/.codex"
		quiet_codex_config >"$quiet_home/.codex/config.toml"
		printf '[projects."%s"]\ntrust_level = "trusted"\n' "$quiet_project" >>"$quiet_home/.codex/config.toml"
		set -- MOCK_KEY=dummy
		;;
	opencode)
		set -- OPENCODE_CONFIG_CONTENT="$(quiet_opencode_config | tr -d '\n')"
		;;
	esac
	chown -R alice: "$quiet_home"
	# shellcheck disable=SC2046,SC2086
	tui_start alice "$quiet_project" 120 40 ${quiet_prefix-} env -i PATH=/usr/local/bin:/usr/bin:/bin \
		HOME="$quiet_home" USER=alice LANG=C.UTF-8 TERM=xterm-256color \
		$(sed -n '/^\[environment\]/,/^$/s/^\([A-Z_]*\) = \(.*\)/\1=\2/p' \
			"$tree"/conf/harness.d/"$quiet_harness"*.conf) "$@" "$quiet_harness"
}

# What the screen shows when the program waits for a request.
prompt_of() { # harness
	case $1 in
	claude) echo 'bypass permissions on' ;;
	codex) echo 'mock-model' ;;
	opencode) echo 'Ask anything' ;;
	esac
}

quiet_run() { # harness home project
	quiet_harness=$1 quiet_home=$2 quiet_project=$3
	case $quiet_harness in
	claude)
		set -- ANTHROPIC_BASE_URL="http://127.0.0.1:$mock_port" ANTHROPIC_API_KEY=sk-ant-dummy \
			CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 DISABLE_INSTALLATION_CHECKS=1 \
			claude -p 'do it' --dangerously-skip-permissions
		;;
	codex)
		mkdir -p "$quiet_home/.codex"
		quiet_codex_config >"$quiet_home/.codex/config.toml"
		chown -R alice: "$quiet_home/.codex"
		set -- MOCK_KEY=dummy codex exec --skip-git-repo-check 'do it'
		;;
	opencode)
		set -- OPENCODE_CONFIG_CONTENT="$(quiet_opencode_config)" OPENCODE_DISABLE_MODELS_FETCH=1 \
			OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 OPENCODE_DISABLE_DEFAULT_PLUGINS=1 \
			opencode run 'do it'
		;;
	esac
	(
		cd "$quiet_project" || exit 1
		# shellcheck disable=SC2086
		timeout 300 setpriv --reuid alice --regid alice --init-groups ${quiet_prefix-} \
			env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$quiet_home" USER=alice LANG=C.UTF-8 TERM=xterm-256color \
			NPM_CONFIG_UPDATE_NOTIFIER=false "$@"
	)
}
