# SPDX-License-Identifier: ISC
# agentcell: one plain GNU makefile.  `make demo` and `make check` need nothing but this tree and apt.

prefix      ?= /usr
sysconfdir  ?= /etc
libexecdir  ?= $(prefix)/libexec
sbindir     ?= $(prefix)/sbin
bindir      ?= $(prefix)/bin
mandir      ?= $(prefix)/share/man
multiarch   := $(shell $(CC) -print-multiarch 2>/dev/null)
libdir      ?= $(prefix)/lib/$(multiarch)
pamdir      ?= $(libdir)/security
sudodir     ?= $(prefix)/libexec/sudo
unitdir     ?= $(prefix)/lib/systemd/system
DESTDIR     ?=
CC          ?= cc
CFLAGS      ?= -O2 -g
LDFLAGS     ?=
WERROR      ?= $(if $(filter true,$(CI)),1,)
SANITIZE    ?=
B           ?= build

warnings := -Wall -Wextra -Wconversion -Wshadow -Wformat=2 -Wvla -Wundef -Wcast-qual \
	-Wstrict-prototypes -Wmissing-prototypes -Wswitch-enum -Wwrite-strings \
	$(if $(findstring clang,$(CC)),,-Wno-format-truncation) $(if $(WERROR),-Werror)
hardening := -fstack-protector-strong -fstack-clash-protection -fcf-protection \
	-ftrivial-auto-var-init=zero -fno-strict-overflow $(if $(SANITIZE),,-D_FORTIFY_SOURCE=2)
ifneq (,$(findstring clang,$(CC)))
hardening += -enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang \
	-Wno-unused-command-line-argument
endif
AC_CFLAGS := -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -pthread $(warnings) $(hardening) $(SANITIZE) \
	-Ilibagentcell -I$(B) -DAC_SYSCONFDIR='"$(sysconfdir)"' -DAC_LIBEXECDIR='"$(libexecdir)"' \
	-DAC_SUDO_DIRECTORY='"$(sudodir)"' -DAC_PAM_DIRECTORY='"$(pamdir)"'
comma := ,
AC_LDFLAGS := -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SANITIZE),,-Wl$(comma)-z$(comma)defs) $(SANITIZE)

# What each library is for stands in README.md.
lib_libs      := -linih -ljson-c -laudit -lzstd -lcrypto -lacl -pthread
plugin_libs   := -lpam
pam_libs      := -lpam
listener_libs := -lcap -lseccomp -lresolv
launcher_libs := -lcap -lseccomp

lib_src      := $(wildcard libagentcell/*.c)
pam_src      := $(wildcard pam_agentcell/*.c)
launcher_src := sudo_plugin/agentcell-launch.c $(wildcard sudo_plugin/launch_*.c)
plugin_src   := $(addprefix sudo_plugin/,plugin.c sudoers.c request.c refuse.c switch_load.c)
plugin_lib   := $(addprefix libagentcell/,err.c escape.c) # so little that no library is needed
switch_src   := $(filter-out $(launcher_src) $(plugin_src) sudo_plugin/gen_%,$(wildcard sudo_plugin/*.c)) \
	sudo_plugin/request.c
listener_src := $(wildcard auditd_rules/*.c)
cli_src      := $(wildcard agentcell/*.c)
obj = $(patsubst %.c,$(B)/%.o,$(1))

programs := $(B)/40-agentcell.rules $(B)/agentcell_policy.so $(B)/agentcell_switch.so $(B)/pam_agentcell.so $(B)/agentcell-launch $(B)/agentcelld $(B)/bin/agentcell

all: $(programs)

# The audit rules name calls that newer machines never had; elsewhere they are left out.
rules_machine ?= $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
old_calls := open creat unlink rename link symlink mkdir rmdir mknod chown lchown chmod
$(B)/40-agentcell.rules: auditd_rules/40-agentcell.rules Makefile
	@mkdir -p $(@D)
	sed -E -e '' $(if $(filter x86_64,$(rules_machine)),,$(foreach c,$(old_calls),-e 's/([ ,])$(c),/\1/')) $< >$@

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(AC_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libagentcell.a: $(call obj,$(lib_src))
	rm -f $@ && $(AR) rcsP $@ $^

$(B)/agentcell_policy.so: $(call obj,$(plugin_src) $(plugin_lib)) sudo_plugin/agentcell_policy.map
	$(CC) -shared $(AC_LDFLAGS) $(LDFLAGS) -Wl,--version-script=sudo_plugin/agentcell_policy.map \
		-o $@ $(filter %.o,$^)

$(B)/agentcell_switch.so: $(call obj,$(switch_src)) $(B)/libagentcell.a sudo_plugin/agentcell_switch.map
	$(CC) -shared $(AC_LDFLAGS) $(LDFLAGS) -Wl,--version-script=sudo_plugin/agentcell_switch.map \
		-o $@ $(filter %.o %.a,$^) $(lib_libs) $(plugin_libs)

$(B)/pam_agentcell.so: $(call obj,$(pam_src)) $(B)/libagentcell.a pam_agentcell/pam_agentcell.map
	$(CC) -shared $(AC_LDFLAGS) $(LDFLAGS) -Wl,--version-script=pam_agentcell/pam_agentcell.map \
		-o $@ $(filter %.o %.a,$^) $(lib_libs) $(pam_libs)

$(B)/agentcell-launch: $(call obj,$(launcher_src)) $(B)/libagentcell.a
	$(CC) -pie $(AC_LDFLAGS) $(LDFLAGS) -Wl,--gc-sections -o $@ $^ -Wl,--as-needed $(lib_libs) $(launcher_libs)

# The seccomp filters are compiled here, not at every session start.
HOSTCC ?= $(CC)
$(B)/gen_seccomp: sudo_plugin/gen_seccomp.c
	@mkdir -p $(@D)
	$(HOSTCC) -std=gnu11 -D_GNU_SOURCE $(warnings) -O1 -o $@ $< -lseccomp
$(B)/seccomp_filter.h: $(B)/gen_seccomp
	$< >$@.new && mv $@.new $@
$(B)/sudo_plugin/launch_seccomp.o $(B)/tests/unit/check_seccomp.o: $(B)/seccomp_filter.h

$(B)/agentcelld: $(call obj,$(listener_src)) $(B)/libagentcell.a
	$(CC) -pie $(AC_LDFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(lib_libs) $(listener_libs)

# In bin/: the objects of the part are in $(B)/agentcell/.
$(B)/bin/agentcell: $(call obj,$(cli_src)) $(B)/libagentcell.a
	@mkdir -p $(@D)
	$(CC) -pie $(AC_LDFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(lib_libs)

# Unit tests: tests/unit/check_<noun>.c, one Check program each, linked with the library and with the
# parts' own objects that have no main().
part_obj := $(call obj,$(filter-out sudo_plugin/agentcell-launch.c auditd_rules/agentcelld.c agentcell/agentcell.c, \
	$(launcher_src) $(listener_src) $(cli_src))) $(patsubst %,$(B)/%.o,sudo_plugin/request sudo_plugin/command sudo_plugin/terms)
$(B)/libparts.a: $(part_obj)
	rm -f $@ && $(AR) rcsP $@ $^

unit_src := $(wildcard tests/unit/check_*.c)
unit_bin := $(patsubst tests/unit/%.c,$(B)/unit/%,$(unit_src))
$(B)/unit/%: $(B)/tests/unit/%.o $(B)/libparts.a $(B)/libagentcell.a
	@mkdir -p $(@D)
	$(CC) $(AC_LDFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed -lcheck -lsubunit -lrt -lm $(lib_libs) $(listener_libs) $(plugin_libs)

# The lifecycle is checked as it ships: spec/README.md says which claim is checked where.
life_obj := $(B)/libagentcell/lifecycle.o $(B)/libagentcell/drive.o $(B)/tests/unit/claims.o
$(B)/unit/exhaust: $(B)/tests/unit/exhaust.o $(life_obj)
$(B)/unit/explore: $(B)/tests/unit/explore.o $(B)/tests/unit/explorer.o $(B)/tests/unit/fake_world.o $(life_obj)
$(B)/unit/exhaust $(B)/unit/explore:
	@mkdir -p $(@D)
	$(CC) $(AC_LDFLAGS) $(LDFLAGS) -o $@ $^
exhaust explore: %: $(B)/unit/%
	$<
spec spec-full: $(life_obj)
	B=$(B) CC="$(CC)" spec/run.sh $(@:spec-%=%)
prove:
	B=$(B) spec/prove.sh
spec-mutants: $(B)/libagentcell/drive.o
	B=$(B) CC="$(CC)" spec/mutants.sh
spec-broken: $(life_obj)
	B=$(B) CC="$(CC)" spec/broken.sh

# Programs of the root tests in tests/cell.
cell_bin := $(patsubst tests/cell/%.c,$(B)/cell/%,$(wildcard tests/cell/*.c))
$(B)/cell/%: $(B)/tests/cell/%.o $(B)/libagentcell.a
	@mkdir -p $(@D)
	$(CC) $(AC_LDFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(lib_libs) $(launcher_libs)

# Programs of the root tests in tests/audit.
audit_bin := $(patsubst tests/audit/%.c,$(B)/audit/%,$(wildcard tests/audit/*.c))
$(B)/audit/%: $(B)/tests/audit/%.o $(B)/libagentcell.a
	@mkdir -p $(@D)
	$(CC) $(AC_LDFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(lib_libs)

# A listener whose minute is a second.
audit_bin += $(B)/audit/agentcelld-brisk
$(B)/audit/settle.o: auditd_rules/settle.c
	@mkdir -p $(@D)
	$(CC) $(AC_CFLAGS) -DAC_HEARTBEAT_MS=1000 $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/audit/agentcelld-brisk: $(filter-out $(B)/auditd_rules/settle.o,$(call obj,$(listener_src))) $(B)/audit/settle.o $(B)/libagentcell.a
	$(CC) -pie $(AC_LDFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(lib_libs) $(listener_libs)

# Programs of the root tests in tests/backup, and the bound of its bench.
backup_bin := $(addprefix $(B)/backup/,driver swapper statwalk fault.so)
$(B)/backup/statwalk: tests/bench/statwalk.c
$(B)/backup/swapper: tests/backup/swapper.c
$(B)/backup/statwalk $(B)/backup/swapper:
	@mkdir -p $(@D)
	$(CC) $(AC_CFLAGS) $(CFLAGS) -o $@ $<
$(B)/backup/fault.so: tests/backup/fault.c
	@mkdir -p $(@D)
	$(CC) $(AC_CFLAGS) $(CFLAGS) -fvisibility=default -shared -o $@ $< -ldl
$(B)/backup/driver: $(B)/tests/backup/driver.o $(B)/libagentcell.a
	@mkdir -p $(@D)
	$(CC) $(AC_LDFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(lib_libs)

# Programs of benches.
$(B)/bench/listener_acts: tests/bench/listener_acts.c
	@mkdir -p $(@D)
	$(CC) $(AC_CFLAGS) $(CFLAGS) -o $@ $<
$(B)/bench/listener_events: $(B)/tests/bench/listener_events.o $(B)/libparts.a $(B)/libagentcell.a
	@mkdir -p $(@D)
	$(CC) $(AC_LDFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(lib_libs) $(listener_libs) $(plugin_libs)

# The plugin's own test loads the built plugin between two scripted sides.
$(B)/fake/sudoers.so: tests/unit/fake_sudoers.c
	@mkdir -p $(@D)
	$(CC) $(AC_CFLAGS) $(CFLAGS) -shared -o $@ $<
$(B)/tests/unit/check_plugin.o: CPPFLAGS += -DTEST_BUILD='"$(abspath $(B))"'
$(B)/unit/check_plugin: LDFLAGS += -rdynamic
$(B)/unit/check_plugin: | $(B)/fake/sudoers.so $(B)/agentcell_policy.so

# Fuzzing: tests/fuzz/fuzz_<noun>.c with the library, by clang's libFuzzer; seeds in corpus/<noun>.
# A harness of another part names that part's objects as further prerequisites.
FUZZ_SECONDS ?= 10
fuzz_flags := -fsanitize=address,undefined -fno-sanitize-recover=all -O1 -g
fuzz_bin   := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz_obj    = $(patsubst %.c,$(B)/fuzz/obj/%.o,$(1))
$(B)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	clang $(filter-out -D_FORTIFY_SOURCE=% -ftrivial-auto-var-init=zero,$(AC_CFLAGS)) -Wno-unknown-warning-option $(CPPFLAGS) $(fuzz_flags) \
		-fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(B)/fuzz/libagentcell.a: $(call fuzz_obj,$(lib_src))
	rm -f $@ && $(AR) rcsP $@ $^
$(B)/fuzz/fuzz_%: $(B)/fuzz/obj/tests/fuzz/fuzz_%.o $(B)/fuzz/libagentcell.a
	clang $(fuzz_flags) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(filter %.a,$^) $(lib_libs)
$(B)/fuzz/fuzz_request: $(call fuzz_obj,$(addprefix sudo_plugin/,request.c command.c terms.c))
$(B)/fuzz/fuzz_record: $(call fuzz_obj,$(addprefix auditd_rules/,record.c event.c silent.c syscalls.c serials.c \
	judge.c judge_name.c judge_path.c judge_address.c pending.c watch.c watch_door.c watch_text.c reader.c pace.c))
fuzz: $(fuzz_bin)
	set -e; for f in $(fuzz_bin:$(B)/fuzz/fuzz_%=%); do \
		mkdir -p $(B)/fuzz/corpus/$$f; \
		$(B)/fuzz/fuzz_$$f -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 \
			-artifact_prefix=$(B)/fuzz/ $(B)/fuzz/corpus/$$f tests/fuzz/corpus/$$f; \
	done

# --- Packages (Debian 12).  deps: to build, install, run and test; deps-harness: for the tests with real
# harnesses; deps-full: all that CI needs.
packages := gcc make pkg-config libc6-dev libpam0g-dev libaudit-dev libauparse-dev libinih-dev libjson-c-dev \
	libnftables-dev libmnl-dev libnftnl-dev libseccomp-dev libcap-dev libzstd-dev libssl-dev libacl1-dev check libsubunit-dev \
	sudo auditd nftables acl attr python3 iproute2 git passwd util-linux procps
packages_full := spin frama-c-base why3 z3 cvc4 clang clang-tidy clang-format cppcheck shellcheck mandoc \
	libclang-rt-14-dev libnss-systemd xfsprogs btrfs-progs tmux vim less bubblewrap firejail bindfs restic borgbackup \
	rsync tinyproxy strace gdb openssh-client
packages_harness := $(if $(shell command -v npm),,nodejs npm) ripgrep tmux strace curl file bubblewrap socat python3-pytest
packages_vm := qemu-system-x86 qemu-utils debootstrap e2fsprogs
packages_machine := $(packages) nodejs npm $(filter-out nodejs npm,$(packages_harness))
# Installs what is missing: nothing, without network or root, when all is there.
missing = $$(for p in $(1); do dpkg-query -W -f='$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q ^ii || echo $$p; done)
apt-install = @set -- $(call missing,$(1)); [ $$\# = 0 ] || { export DEBIAN_FRONTEND=noninteractive; \
	apt-get update && apt-get install -y --no-install-recommends "$$@"; }
deps:
	$(call apt-install,$(packages))
deps-harness:
	$(call apt-install,$(packages) $(packages_harness))
deps-vm:
	$(call apt-install,$(packages_vm))
deps-full:
	$(call apt-install,$(packages) $(packages_full) $(packages_harness))

# --- Tests: tests/run says what each suite is, and counts.
run_tests := B='$(abspath $(B))' AGENTCELL_BUILD='$(abspath $(B))' CC='$(CC)' tests/run
check_bin := $(unit_bin) $(B)/unit/exhaust $(B)/unit/explore
# With a make of their own: the compiler that this one asked may have come with deps only now.
demo check check-fast: deps
	$(MAKE) $@-now
check-fast-now: $(check_bin)
	$(run_tests) unit exhaust explore
check-now: all $(check_bin) $(cell_bin) $(audit_bin) $(backup_bin) $(B)/flags asan-build
	$(run_tests) unit asan exhaust explore spec prove lint cell audit backup system attack harness
# Real harnesses from npm, in a cache outside the tree; they need the network once.
check-harness: deps-harness
	$(MAKE) check-harness-now
check-harness-now: all
	$(run_tests) harness
# A working day, without a network where the cache is filled: SOAK_SECONDS, an hour if not told.
soak: all
	AGENTCELL_BUILD='$(abspath $(B))' tests/harness/soak $(SOAK_SECONDS)
# A whole machine with Debian's own kernel and systemd; tests/vm/run says what happens there.  SUITE: of it
# only these scripts, as in SUITE=audit/30-evasion.sh,audit/20-blind.sh
check-vm: deps-vm
	tests/vm/run $(if $(SUITE),suite $(SUITE),check) $(packages_machine)
soak-vm: deps-vm deps-harness
	tests/vm/run soak $(SOAK_SECONDS) $(packages_machine)
# What that machine builds of the tree, by itself.
vm-programs: all $(audit_bin) $(B)/vm/attack32
$(B)/vm/attack32: tests/audit/attack.c
	@mkdir -p $(@D)
	$(CC) -m32 -static -std=gnu11 -D_GNU_SOURCE -Ilibagentcell $(CFLAGS) -o $@ $<
demo-now: all
	AGENTCELL_BUILD='$(abspath $(B))' tests/demo.sh
asan: asan-build
	$(run_tests) asan
asan-build:
	$(MAKE) B=$(B)/asan SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' \
		CFLAGS='-O1 -g' unit-build
unit-build: $(unit_bin)
bench: all $(backup_bin) $(audit_bin) $(B)/bench/listener_events $(B)/bench/listener_acts
	AGENTCELL_BUILD='$(abspath $(B))' tests/bench/run
# The flags, for the checkers, which also want the headers that are made.
$(B)/flags: Makefile $(B)/seccomp_filter.h
	$(file >$@,$(filter-out -ftrivial-auto-var-init=zero -Werror,$(AC_CFLAGS)) -DTEST_BUILD='"$(abspath $(B))"')
lint: $(B)/flags
	tests/lint $< $(TOOLS)

# --- Installing: conf/install.sh says in which order, and takes back what fails.
directories := B='$(abspath $(B))' DESTDIR='$(DESTDIR)' prefix='$(prefix)' sysconfdir='$(sysconfdir)' \
	libexecdir='$(libexecdir)' sbindir='$(sbindir)' bindir='$(bindir)' mandir='$(mandir)' pamdir='$(pamdir)' \
	sudodir='$(sudodir)' unitdir='$(unitdir)'
install: all
	$(directories) conf/install.sh
uninstall:
	$(directories) conf/uninstall.sh

clean:
	rm -rf $(B)

.SECONDARY: # objects of the tests stay
.PHONY: all clean deps deps-full deps-harness check check-harness check-harness-now soak check-vm soak-vm vm-programs deps-vm check-fast demo check-now check-fast-now demo-now asan asan-build unit-build bench lint install uninstall fuzz exhaust explore spec spec-full prove spec-mutants spec-broken
-include $(shell find $(B) -name '*.d' 2>/dev/null)
