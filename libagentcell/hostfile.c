/* SPDX-License-Identifier: ISC */
/*
 * A table of patterns.  A pattern fits the last components of a path, '*' within one component; with
 * a final "/" it fits what lies below such a directory.  The list is long and never complete: it is a
 * help for the person who looks, not a boundary.
 */
#include "hostfile.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "util.h"

static const struct heeded {
	const char *pattern, *by;
} table[] = {
	/* git; a directory of hooks may have any name */
	{ ".git", "git" },
	{ ".git/config", "git" },
	{ ".git/config.worktree", "git" },
	{ ".git/commondir", "git" },
	{ ".git/hooks/", "git" },
	{ ".git/hooks.agentcell-*/", "git, if it is moved back" },
	{ ".git/modules/", "git" },
	{ ".git/worktrees/", "git" },
	{ ".git/info/attributes", "git" },
	{ ".git/rebase-merge/git-rebase-todo", "git" },
	{ ".gitmodules", "git" },
	{ ".gitattributes", "git" },
	{ ".gitconfig", "git" },
	{ "hooks/pre-*", "git, where hooks are linked" },
	{ "hooks/post-*", "git, where hooks are linked" },
	{ ".husky/", "git" },
	{ ".githooks/", "git" },
	{ ".pre-commit-config.yaml", "pre-commit" },
	{ "lefthook.y*ml", "lefthook" },
	{ ".lefthook/", "lefthook" },
	{ ".lintstagedrc*", "lint-staged" },
	{ ".jj/repo/config.toml", "jj" },
	{ ".hg/hgrc", "Mercurial" },
	/* shells and what hooks into them */
	{ ".envrc", "direnv" },
	{ ".mise.toml", "mise" },
	{ "mise.toml", "mise" },
	{ ".mise/", "mise" },
	{ ".tool-versions", "asdf" },
	{ ".nvmrc", "nvm" },
	{ ".autoenv.zsh", "autoenv" },
	{ ".env", "dotenv" },
	{ ".env.*", "dotenv" },
	{ ".bashrc", "bash" },
	{ ".bash_profile", "bash" },
	{ ".profile", "the login shell" },
	{ ".zshrc", "zsh" },
	{ ".zshenv", "zsh" },
	{ ".inputrc", "readline" },
	{ ".tmux.conf", "tmux" },
	{ ".screenrc", "screen" },
	/* editors and debuggers */
	{ ".vscode/", "the editor" },
	{ "*.code-workspace", "the editor" },
	{ ".idea/", "the editor" },
	{ ".fleet/", "the editor" },
	{ ".zed/", "the editor" },
	{ ".devcontainer/", "the editor" },
	{ "devcontainer.json", "the editor" },
	{ ".dir-locals.el", "Emacs" },
	{ ".exrc", "vim" },
	{ ".vimrc", "vim" },
	{ ".nvim.lua", "Neovim" },
	{ ".nvimrc", "Neovim" },
	{ ".lvimrc", "vim" },
	{ ".editorconfig", "the editor" },
	{ ".gdbinit", "gdb" },
	{ ".lldbinit", "lldb" },
	{ ".Rprofile", "R" },
	{ ".irbrc", "irb" },
	{ ".pryrc", "pry" },
	{ ".sqliterc", "sqlite3" },
	{ ".psqlrc", "psql" },
	/* agents */
	{ ".mcp.json", "agents" },
	{ "mcp.json", "agents" },
	{ "CLAUDE.md", "agents" },
	{ "CLAUDE.local.md", "agents" },
	{ "AGENTS.md", "agents" },
	{ "AGENTS.override.md", "agents" },
	{ "GEMINI.md", "agents" },
	{ ".cursorrules", "agents" },
	{ ".cursor/", "agents" },
	{ ".claude/", "agents" },
	{ ".claude.json", "agents" },
	{ ".codex/", "agents" },
	{ ".agents/", "agents" },
	{ ".gemini/", "agents" },
	{ ".opencode/", "agents" },
	{ "opencode.json*", "agents" },
	{ ".windsurfrules", "agents" },
	{ ".aider.conf.yml", "agents" },
	{ ".github/copilot-instructions.md", "agents" },
	/* continuous integration */
	{ ".github/workflows/", "CI" },
	{ ".github/actions/", "CI" },
	{ ".gitlab-ci.yml", "CI" },
	{ ".gitlab/ci/", "CI" },
	{ ".circleci/", "CI" },
	{ ".buildkite/", "CI" },
	{ ".forgejo/workflows/", "CI" },
	{ ".gitea/workflows/", "CI" },
	{ ".woodpecker*", "CI" },
	{ ".builds/", "CI" },
	{ ".ci/", "CI" },
	{ ".travis.yml", "CI" },
	{ ".drone.yml", "CI" },
	{ ".cirrus.yml", "CI" },
	{ "appveyor.yml", "CI" },
	{ "azure-pipelines*.y*ml", "CI" },
	{ "bitbucket-pipelines.yml", "CI" },
	{ "Jenkinsfile*", "CI" },
	{ "cloudbuild.y*ml", "CI" },
	/* builds, tests and packages */
	{ "package.json", "npm" },
	{ ".npmrc", "npm" },
	{ ".yarnrc*", "yarn" },
	{ ".yarn/", "yarn" },
	{ ".pnp.*", "yarn" },
	{ ".pnpmfile.cjs", "pnpm" },
	{ "pnpm-workspace.yaml", "pnpm" },
	{ "bunfig.toml", "bun" },
	{ "deno.json*", "deno" },
	{ "*.config.js", "node tools" },
	{ "*.config.cjs", "node tools" },
	{ "*.config.mjs", "node tools" },
	{ "*.config.ts", "node tools" },
	{ ".eslintrc*", "eslint" },
	{ ".prettierrc*", "prettier" },
	{ ".babelrc*", "babel" },
	{ "Gruntfile*", "grunt" },
	{ "gulpfile*", "gulp" },
	{ "Makefile", "make" },
	{ "makefile", "make" },
	{ "GNUmakefile", "make" },
	{ "Makefile.*", "make" },
	{ "*.mk", "make" },
	{ "CMakeLists.txt", "cmake" },
	{ "*.cmake", "cmake" },
	{ "CMakePresets.json", "cmake" },
	{ "meson.build", "meson" },
	{ "configure", "whoever builds" },
	{ "configure.ac", "autotools" },
	{ "autogen.sh", "autotools" },
	{ "SConstruct", "scons" },
	{ "BUILD", "bazel" },
	{ "BUILD.bazel", "bazel" },
	{ "WORKSPACE", "bazel" },
	{ "MODULE.bazel", "bazel" },
	{ ".bazelrc", "bazel" },
	{ "justfile", "just" },
	{ "Justfile", "just" },
	{ ".justfile", "just" },
	{ "Taskfile.y*ml", "task" },
	{ "build.rs", "cargo" },
	{ "Cargo.toml", "cargo" },
	{ ".cargo/", "cargo" },
	{ "rust-toolchain*", "cargo" },
	{ "go.mod", "go" },
	{ "go.work", "go" },
	{ "build.zig", "zig" },
	{ "pom.xml", "maven" },
	{ ".mvn/", "maven" },
	{ "mvnw", "maven" },
	{ "*.gradle", "gradle" },
	{ "*.gradle.kts", "gradle" },
	{ "gradlew", "gradle" },
	{ "gradle/wrapper/", "gradle" },
	{ "build.sbt", "sbt" },
	{ "setup.py", "python tools" },
	{ "setup.cfg", "python tools" },
	{ "pyproject.toml", "python tools" },
	{ "conftest.py", "pytest" },
	{ "pytest.ini", "pytest" },
	{ "tox.ini", "tox" },
	{ "noxfile.py", "nox" },
	{ "sitecustomize.py", "python" },
	{ "usercustomize.py", "python" },
	{ "*.pth", "python" },
	{ "pyvenv.cfg", "python" },
	{ "requirements*.txt", "pip" },
	{ "Rakefile", "rake" },
	{ "Gemfile", "bundler" },
	{ ".bundle/config", "bundler" },
	{ "*.gemspec", "gem" },
	{ "composer.json", "composer" },
	{ "mix.exs", "mix" },
	{ "Dockerfile*", "docker" },
	{ "Containerfile*", "podman" },
	{ "docker-compose*.y*ml", "docker" },
	{ "compose.y*ml", "docker" },
	{ "Vagrantfile", "vagrant" },
	{ "flake.nix", "nix" },
	{ "shell.nix", "nix" },
	{ "default.nix", "nix" },
	{ "Tiltfile", "tilt" },
	{ "Procfile*", "foreman" },
	{ "*.tf", "terraform" },
	/* the system */
	{ "*.service", "systemd" },
	{ "*.timer", "systemd" },
	{ "*.desktop", "the desktop" },
	{ "crontab", "cron" },
	{ "authorized_keys", "sshd" },
	{ ".ssh/", "ssh" },
};

/* Where the components behind the next n end; NULL: there are not so many. */
static const char *skip(const char *text, unsigned n)
{
	while (n--) {
		text = strchr(text, '/');
		if (!text)
			return NULL;
		text++;
	}
	return text;
}

static unsigned count_slashes(const char *text)
{
	unsigned count = 0;

	for (; *text; text++)
		count += *text == '/';
	return count;
}

/* Does one component of the pattern fit the one of the path? */
static bool fits_component(
	const char *pattern, size_t pattern_length, const char *name, size_t name_length)
{
	char left[64], right[256];

	if (pattern_length >= sizeof left || name_length >= sizeof right)
		return false;
	memcpy(left, pattern, pattern_length);
	left[pattern_length] = '\0';
	memcpy(right, name, name_length);
	right[name_length] = '\0';
	return strchr(left, '*') ? fnmatch(left, right, 0) == 0 : strcmp(left, right) == 0;
}

/* Does the pattern fit from here on?  All of it, and the whole path unless it ends in "/". */
static bool fits(const char *pattern, const char *path)
{
	for (;;) {
		size_t pattern_length = strcspn(pattern, "/"), name_length = strcspn(path, "/");

		if (!fits_component(pattern, pattern_length, path, name_length))
			return false;
		pattern += pattern_length;
		path += name_length;
		if (!*pattern)
			return !*path;
		if (!*path)
			return false;
		pattern++;
		path++;
		if (!*pattern)
			return *path != '\0';
	}
}

static bool fits_somewhere(const char *pattern, const char *path)
{
	bool is_below = pattern[strlen(pattern) - 1] == '/';
	unsigned wanted = count_slashes(pattern), there = count_slashes(path);

	if (!is_below) {
		const char *end = there < wanted ? NULL : skip(path, there - wanted);

		return end && fits(pattern, end);
	}
	for (const char *at = path; at; at = skip(at, 1))
		if (fits(pattern, at))
			return true;
	return false;
}

const char *ac_hostfile_heeded_by(const char *path)
{
	for (size_t i = 0; i < AC_COUNT(table); i++)
		if (fits_somewhere(table[i].pattern, path))
			return table[i].by;
	return NULL;
}

unsigned ac_hostfile_package_tree(const char *path)
{
	static const char *const trees[] = { "/node_modules/", "/.venv/", "/venv/",
		"/site-packages/", "/vendor/bundle/", "/.tox/", "/target/debug/",
		"/target/release/", "/__pycache__/" };
	const char *first = NULL;
	size_t length = 0;

	for (size_t i = 0; i < AC_COUNT(trees); i++) {
		const char *found = strstr(path, trees[i]);

		if (found && (!first || found < first)) {
			first = found;
			length = strlen(trees[i]);
		}
	}
	return first ? (unsigned)((size_t)(first - path) + length - 1) : 0;
}
