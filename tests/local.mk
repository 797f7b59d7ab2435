# SPDX-License-Identifier: MIT
# The tests and the checks of the code. HACKING.md says what each target is for.

UNITS = \
	tests/unit/t-columns tests/unit/t-conn tests/unit/t-endpoint \
	tests/unit/t-errors tests/unit/t-glob tests/unit/t-guard \
	tests/unit/t-history tests/unit/t-json tests/unit/t-keys \
	tests/unit/t-lease tests/unit/t-opts tests/unit/t-peer \
	tests/unit/t-process tests/unit/t-script tests/unit/t-server \
	tests/unit/t-suggest tests/unit/t-units tests/unit/t-waiting
HELPERS = \
	tests/lib/kit tests/lib/launch tests/lib/linger tests/lib/proxy \
	tests/lib/pty tests/lib/vt \
	tests/lib/wallclock tests/lib/witness
# the fuzz targets without a fuzzer
FUZZ = url reply lease opts board
REPLAYS = \
	tests/fuzz/replay-url tests/fuzz/replay-reply \
	tests/fuzz/replay-lease tests/fuzz/replay-opts \
	tests/fuzz/replay-board
# a table, not a program that make might link from rules.c
tests/sim/rules: ;
# Those that take longest come first, so that none is alone at the end.
BATS = \
	tests/server.bats tests/client.bats tests/network.bats \
	tests/force.bats tests/sentinel.bats tests/examples.bats \
	tests/faults.bats tests/rollback.bats tests/signals.bats \
	tests/cluster.bats tests/local.bats tests/masters.bats \
	tests/sim.bats tests/replies.bats tests/doctor.bats \
	tests/top.bats tests/lock.bats tests/usage.bats tests/rights.bats \
	tests/history.bats tests/queue.bats tests/docs.bats \
	tests/leases.bats tests/completions.bats tests/nodes.bats \
	tests/list.bats tests/replace.bats tests/password.bats \
	tests/deploy.bats tests/service.bats tests/wait.bats \
	tests/readers.bats tests/tls.bats tests/inspect.bats \
	tests/limits.bats tests/kit.bats tests/config.bats \
	tests/nesting.bats tests/priority.bats tests/messages.bats \
	tests/once.bats tests/release.bats tests/slots.bats \
	tests/bootstrap.bats tests/run.bats tests/keys.bats \
	tests/foreign.bats tests/hardening.bats tests/orphans.bats \
	tests/versions.bats
check_PROGRAMS = $(UNITS) $(HELPERS) $(REPLAYS)
if HAVE_LUA
check_PROGRAMS += tests/sim/sim
endif
check_DATA = tests/lib/clockshim.so tests/lib/inject.so tests/lib/wallclock.so \
	tests/none-retried
# lists the tests that needed another try: see tests/lib/common.bash
tests/none-retried:
	@$(MKDIR_P) tests && rm -f tests/retried

tests_sim_sim_SOURCES = tests/sim/sim.c tests/sim/compare.c tests/sim/redis.c \
	tests/sim/rules.c tests/sim/server.c tests/sim/twin.c \
	tests/sim/world.c
tests_sim_sim_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
tests_sim_sim_LDADD = $(LDADD) $(LUA_LIBS)
tests_fuzz_replay_url_SOURCES = tests/fuzz/fuzz-url.c tests/fuzz/replay.c
tests_fuzz_replay_reply_SOURCES = tests/fuzz/fuzz-reply.c tests/fuzz/replay.c
tests_fuzz_replay_lease_SOURCES = tests/fuzz/fuzz-lease.c tests/fuzz/replay.c
tests_fuzz_replay_opts_SOURCES = tests/fuzz/fuzz-opts.c tests/fuzz/replay.c
tests_fuzz_replay_board_SOURCES = tests/fuzz/fuzz-board.c tests/fuzz/replay.c
EXTRA_PROGRAMS = bench/scale

# Preloaded into programs that are not ours: never built with a sanitizer.
SUFFIXES = .so
.c.so:
	$(AM_V_CCLD)$(MKDIR_P) tests/lib && \
	$(CC) -std=c11 -D_GNU_SOURCE -O1 -shared -fPIC -o $@ $< -ldl -lrt

TESTS = $(BATS) $(UNITS) $(REPLAYS)
TEST_EXTENSIONS = .bats
TAP = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(TAP)
BATS_LOG_DRIVER = $(TAP)
# Signals start at their defaults, whatever make inherited. A file that hangs is
# ended, and the others still run.
BATS_SECONDS = 1200
BATS_LOG_COMPILER = '$(abs_builddir)/tests/lib/launch' --default all \
	timeout --foreground $(BATS_SECONDS) bats
AM_BATS_LOG_FLAGS = --tap --timing
REDLOCK = $(abs_builddir)/redlock
AM_TESTS_ENVIRONMENT = \
	REDLOCK='$(REDLOCK)' TEST_BIN='$(abs_builddir)/tests/lib' \
	REDLOCK_RETRIED='$(abs_builddir)/tests/retried'; \
	export REDLOCK TEST_BIN REDLOCK_RETRIED;
check-local: check-TESTS
	@echo 'The slowest tests:' && cat /dev/null $(TEST_LOGS) | \
	sed -n 's/^ok [0-9]* \(.*\) in \([0-9]*\)ms$$/\2 ms  \1/p' | \
	sort -rn | head -n 10
	@test ! -s tests/retried || \
		{ echo 'Tests that needed another try:' && cat tests/retried; }
# The tests that need no server and no bats: for packages.
check-unit:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$$(UNITS)' check_PROGRAMS='$$(UNITS)' \
		check_DATA=
check-strict:
	STRICT=1 $(MAKE) $(AM_MAKEFLAGS) check
check-sim:
	SIM_FULL=1 $(MAKE) $(AM_MAKEFLAGS) check TESTS=tests/sim.bats
FAULTS_SECONDS = 60
check-faults:
	REDLOCK_FAULTS=$(FAULTS_SECONDS) $(MAKE) $(AM_MAKEFLAGS) check \
		BATS_SECONDS=`expr $(BATS_SECONDS) + 5 \* $(FAULTS_SECONDS)` \
		TESTS=tests/faults.bats
check-valgrind: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='tests/run.bats $(UNITS)' \
		TESTS_ENVIRONMENT='SANITIZED=valgrind; \
			VALGRIND_OF=$(abs_builddir)/redlock; \
			REDLOCK=$(abs_srcdir)/tests/lib/valgrind.sh; \
			export SANITIZED VALGRIND_OF REDLOCK;' \
		LOG_COMPILER='valgrind -q --leak-check=full \
			--errors-for-leak-kinds=definite --error-exitcode=99'

# ---- in another build of what is shipped, in build-NAME ----

# $(call configured,NAME) SETTING...
configured = rm -rf build-$(1) && $(MAKE) $(AM_MAKEFLAGS) distdir && \
	mv $(distdir) build-$(1) && cd build-$(1) && ./configure -q
SANITIZED_CFLAGS = CFLAGS='-O1 -g -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined'
SHORT = $(UNITS) $(REPLAYS) tests/sim.bats tests/run.bats tests/usage.bats \
	tests/inspect.bats tests/list.bats tests/top.bats tests/history.bats \
	tests/doctor.bats tests/queue.bats tests/priority.bats \
	tests/messages.bats tests/foreign.bats tests/password.bats
check-asan:
	$(call configured,asan) $(SANITIZED_CFLAGS) && \
		SANITIZED=asan MUTATIONS=200000 $(MAKE) $(AM_MAKEFLAGS) check
check-asan-short:
	$(call configured,asan) $(SANITIZED_CFLAGS) && SANITIZED=asan \
		MUTATIONS=200000 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(SHORT)'
check-tsan:
	$(call configured,tsan) CFLAGS='-O1 -g -fsanitize=thread' && \
		TSAN_OPTIONS=atexit_sleep_ms=0 SANITIZED=tsan MUTATIONS=200000 \
		$(MAKE) $(AM_MAKEFLAGS) check
# The hiredis 1.x that this machine lacks or has.
build-hiredis1-lib/lib/pkgconfig/hiredis.pc:
	$(srcdir)/scripts/hiredis1.sh build-hiredis1-lib
HIREDIS1 = $(UNITS) tests/run.bats tests/inspect.bats tests/history.bats
check-hiredis1: build-hiredis1-lib/lib/pkgconfig/hiredis.pc
	$(call configured,hiredis1) \
		PKG_CONFIG_PATH='$(abs_builddir)/build-hiredis1-lib/lib/pkgconfig' && \
		$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(HIREDIS1)' && \
		./redlock --version | grep 'with 1.*, running 1'
# HOSTILE_SEED plays one run again.
HOSTILE_RUNS = 1000
check-hostile:
	$(call configured,hostile) $(SANITIZED_CFLAGS) && \
		$(MAKE) $(AM_MAKEFLAGS) redlock
	/usr/bin/python3 $(srcdir)/tests/hostile/hostile.py \
		--runs $(HOSTILE_RUNS) $(HOSTILE_SEED:%=--seed %) \
		build-hostile/redlock
SOAK_SECONDS = 7200
check-soak: all tests/lib/witness
	/usr/bin/python3 $(srcdir)/tests/soak/soak.py \
		--seconds $(SOAK_SECONDS) redlock tests/lib/witness
mutants: mutants-by-turns
	+$(call configured,mutants) && scripts/mutants.sh tests/mutants
# Every single place of the Lua, and a sample of the lease: scripts/mutants.py.
# MUTANTS="--only line.lua" for some.
MUTANTS =
break = CC='$(CC)' CFLAGS='$(DEFAULT_INCLUDES) $(DEFS) $(AM_CPPFLAGS) $(AM_CFLAGS) \
		$(CFLAGS)' LDFLAGS='$(AM_LDFLAGS) $(LDFLAGS)' \
	LIBS='$(LDADD) $(LUA_LIBS) $(LIBS)' \
	/usr/bin/python3 $(srcdir)/scripts/mutants.py
mutants-lua: all $(check_PROGRAMS) $(check_DATA)
	$(break) lua $(MUTANTS)
mutants-core: all $(check_PROGRAMS)
	$(break) core $(MUTANTS)
mutants-by-turns: all $(check_PROGRAMS) $(check_DATA)
	$(break) lua --no-bats --seconds 240 --turn $$(($$(date +%s) / 86400))
# libFuzzer goes on from what it found the last time, and ends with the input
# that breaks something.
FUZZ_CC = clang
FUZZ_SECONDS = 600
FUZZED_CFLAGS = -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=undefined
build-fuzz/libredlock.a: libredlock.a
	$(MKDIR_P) build-fuzz
	$(call configured,fuzz/tree) CC=$(FUZZ_CC) CFLAGS='$(FUZZED_CFLAGS)' && \
		$(MAKE) $(AM_MAKEFLAGS) libredlock.a && cp libredlock.a ..
fuzz: build-fuzz/libredlock.a
	for name in $(FUZZ); do \
		dict=$(srcdir)/tests/fuzz/$$name.dict; \
		$(MKDIR_P) build-fuzz/$$name && \
		$(FUZZ_CC) -std=c11 -D_GNU_SOURCE -I$(srcdir)/src \
			$(HIREDIS_CFLAGS) $(FUZZED_CFLAGS) -fsanitize=fuzzer \
			-o build-fuzz/fuzz-$$name \
			$(srcdir)/tests/fuzz/fuzz-$$name.c \
			build-fuzz/libredlock.a $(LDADD) $(LIBS) && \
		build-fuzz/fuzz-$$name -max_total_time=$(FUZZ_SECONDS) \
			-max_len=7999 -timeout=5 -print_final_stats=1 \
			`test ! -e $$dict || echo -dict=$$dict` \
			-artifact_prefix=build-fuzz/ build-fuzz/$$name \
			$(srcdir)/tests/fuzz/$$name || exit 1; \
	done

# ---- against other programs, versions and systems ----

# VERSIONS="valkey-8.0 redis-6.0" for some
check-versions: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS=
	$(srcdir)/scripts/check-versions.sh
# as root: see scripts/roots.sh
SYSTEMS = bullseye trixie sid
check-systems:
	$(srcdir)/scripts/roots.sh $(SYSTEMS)
# The clients from npm are those of the lock file.
build-interop/installed: tests/interop/package.json \
		tests/interop/package-lock.json
	$(MKDIR_P) build-interop
	cp -f $(srcdir)/tests/interop/package.json \
		$(srcdir)/tests/interop/package-lock.json build-interop
	cd build-interop && npm ci --ignore-scripts --no-audit --no-fund
	touch $@
check-interop: build-interop/installed
	INTEROP_NODE_MODULES='$(abs_builddir)/build-interop/node_modules' \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS=tests/interop.bats
# Two older ones on the same key: the last commit that kept a lock in several keys, and
# one with this layout (from 1.0 on, 1.0). It needs the history of a clone.
UPGRADE_FROM = 4daa7f0aca42f40b87116a101a0d2a9b0c710a91
UPGRADE_WITHIN = 1a1540abe6c3dfba1404cf352dcfdf57e0a29e7a
build-old/redlock: COMMIT = $(UPGRADE_FROM)
build-within/redlock: COMMIT = $(UPGRADE_WITHIN)
build-old/redlock build-within/redlock:
	rm -rf $(@D) && $(MKDIR_P) $(@D)
	cd $(srcdir) && git archive $(COMMIT) | tar -xf - -C '$(abs_builddir)/$(@D)'
	cd $(@D) && autoreconf -i && ./configure && $(MAKE) $(AM_MAKEFLAGS) redlock
check-upgrade: build-old/redlock build-within/redlock
	OLD_REDLOCK='$(abs_builddir)/build-old/redlock' \
	WITHIN_REDLOCK='$(abs_builddir)/build-within/redlock' \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS=tests/upgrade.bats

# ---- the protocol ----

model:
	$(srcdir)/tests/model/run.sh
# with other seeds each time
FROM = --from `date +%s`000000
prove: $(check_PROGRAMS)
	SIM_FULL=1 $(MAKE) $(AM_MAKEFLAGS) check TESTS=tests/sim.bats
	! test -x tests/sim/sim || tests/sim/sim --runs 1000000 $(FROM)
	! test -x tests/sim/sim || tests/sim/sim --nodes 3 --runs 200000 $(FROM)
	! test -x tests/sim/sim || tests/sim/sim --nodes 5 --runs 50000 $(FROM)
	for name in $(REPLAYS); do \
		srcdir='$(srcdir)' MUTATIONS=2000000 $$name || exit 1; \
	done
	$(srcdir)/tests/model/run.sh
	$(break) lua
	$(break) core

# What docs/compatibility.md promises, line by line.
compatibility: all
	cd $(srcdir) && scripts/compatibility.sh $(abs_builddir)/redlock \
		> tests/compatibility.new && \
		mv tests/compatibility.new tests/compatibility

# ---- all of this, on one commit ----

# LEGS="lint sim-one" for some; the script says which there are, and their numbers.
LEGS =
prove-release:
	cd $(srcdir) && scripts/prove-release.sh $(LEGS)

# ---- lint ----

C_FILES = $(srcdir)/src/*/*.[ch] $(srcdir)/src/*/*/*.[ch] \
	$(srcdir)/tests/*/*.[ch] $(srcdir)/bench/*.c
# one file each: of several, clang-tidy 14 takes every va_list for garbage
TIDY = found=$$(clang-tidy --quiet "$$1" -- -std=c11 $(DEFAULT_INCLUDES) \
	$(AM_CPPFLAGS) $(LUA_CFLAGS) 2>&1) || { echo "$$found"; exit 1; }
SH_FILES = bootstrap .ci/run bench/*.sh examples/*.sh examples/*/*.sh \
	scripts/*.sh tests/interop/*.sh tests/lib/*.sh tests/model/*.sh
lint: all
	clang-format --dry-run -Werror $(C_FILES)
	cppcheck -q --std=c11 --enable=warning,portability,performance \
		--inline-suppr --error-exitcode=1 -D_GNU_SOURCE \
		-I$(srcdir)/src -Isrc $(srcdir)/src
	ls -S $(C_FILES) | grep '\.c$$' | \
		xargs -n 1 -P "$$(nproc)" $(SHELL) -c '$(TIDY)' -
	cd $(srcdir) && shellcheck -x -P SCRIPTDIR -e SC2154 $(SH_FILES)
	mandoc -T lint -W warning $(dist_man_MANS:%=$(srcdir)/%)
	cd $(srcdir) && scripts/check-lua.sh
	cd $(srcdir) && scripts/check-layers.sh
	cd $(srcdir) && scripts/check-docs.sh $(abs_builddir)/redlock
	cd $(srcdir) && scripts/release.sh --check $(VERSION) $(abs_builddir)/redlock
format:
	clang-format -i $(C_FILES)
completions: redlock
	/usr/bin/python3 -IS $(srcdir)/scripts/completions.py ./redlock $(srcdir)

.PHONY: check-asan check-asan-short check-faults check-hiredis1 check-hostile check-soak \
	check-interop check-sim check-strict check-systems check-tsan check-unit \
	check-upgrade check-valgrind check-versions compatibility completions format fuzz lint model \
	mutants mutants-by-turns mutants-core mutants-lua prove \
	prove-release \
	tests/none-retried
