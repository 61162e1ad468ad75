# Tidemark.  One Makefile for everything; all that is made lies below build/.
#
#   make check       the unit tests: seconds
#   make             build/tidemarkd build/tidemark-milter build/tidemark
#                    build/tidemark-web
#   make run         the product at work, in ./run (no root, no mail server)
#   make test        every test that fits in ten minutes, real sendmail too
#   make test T=NAME [CASE=WORDS]  those of that name (t_bans, race/t_bulk);
#                    of their cases those with the words in their sentence
#   make test-all    the same, then sanitizer builds, storms and lint
#   make test-rest   the latter without the former
#   make check-asan  unit and race tests under ASan and UBSan
#   make check-tsan  the same under TSan
#   make fuzz        TIME=60 seconds for each target of tests/fuzz (clang)
#   make lint        clang-format, clang-tidy, cppcheck
#   make reproduce-memory  the latter alone: the published table, and a corpus
#                    of real mail (npm fetches it)
#   make reproduce   the tables of the papers behind bulk counts and memory
#                    (minutes)
#   make bench       ratios against null filters and plain structures
#   make deps        what building needs (apt as root; else says the line)
#   make install     DESTDIR= PREFIX=
#   make deb         Debian packages in build/deb, checked by lintian
#   make check-deb   their life: install, start, upgrade, remove, purge
#   make clean
#
# Options:
#   CC=clang         either compiler; both build without a warning
#   B=DIR            where to build (the sanitizer builds use their own)
#   SAN=LIST         -fsanitize=LIST, without jemalloc
#   J=N              so many tests side by side (as many as there are cores)
#   CPPFLAGS= CFLAGS= LDFLAGS=   come after our own, and so win over them
#   WERROR=          warnings are no errors (a compiler newer than we are)
#   UNITDIR=DIR SYSUSERSDIR=DIR TMPFILESDIR=DIR   where systemd looks

CC      = gcc
B       = build
SAN     =
PREFIX  = /usr/local
DESTDIR =
VERSION = 0.3
UNITDIR = $(PREFIX)/lib/systemd/system
SYSUSERSDIR = $(PREFIX)/lib/sysusers.d
TMPFILESDIR = $(PREFIX)/lib/tmpfiles.d

MAKEFLAGS += --no-builtin-rules --no-print-directory

OPT      = -O2 -g
# Defined twice, in different ways, it would be an error.
FORTIFY  = $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),, \
	   -D_FORTIFY_SOURCE=2)
# Each processor has its own way to guard jumps, and compilers refuse the other.
MACHINE := $(shell $(CC) -dumpmachine)
JUMPS    = $(if $(filter x86_64-% i%86-%,$(MACHINE)),-fcf-protection) \
	   $(if $(filter aarch64-%,$(MACHINE)),-mbranch-protection=standard)
HARDEN   = -fstack-protector-strong -fstack-clash-protection \
	   $(FORTIFY) $(JUMPS) -fPIE
WERROR   = -Werror
WARN     = -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes \
	   -Wmissing-prototypes -Wpointer-arith -Wvla $(WERROR)
OUR_CPPFLAGS = -D_GNU_SOURCE -Iinclude -DTIDE_VERSION='"$(VERSION)"'
OUR_CFLAGS   = -std=c11 $(OPT) $(HARDEN) $(WARN) -fvisibility=hidden -pthread
OUR_LDFLAGS  = -pie -Wl,-z,relro,-z,now -Wl,--as-needed -pthread
COMPILE  = $(CC) $(OUR_CPPFLAGS) $(OUR_CFLAGS) $(CPPFLAGS) $(CFLAGS)
LINK     = $(CC) $(OUR_LDFLAGS) $(LDFLAGS)
# Static: the shared one brings two more libraries, and every fork pays for
# each mapping.
MALLOC   = -l:libjemalloc_pic.a

ifneq ($(SAN),)
OPT      = -O1 -g -fno-omit-frame-pointer
HARDEN   = -fPIE
OUR_CFLAGS  += -fsanitize=$(SAN) -fno-sanitize-recover=all
OUR_LDFLAGS += -fsanitize=$(SAN)
MALLOC   =
endif

LIBS = -llmdb -lxxhash -lsodium -lidn2 -lutf8proc -lzstd -lm

# ---- what is made of what ------------------------------------------------

LIB_SRC    := $(wildcard daemon/lib/*/*.c)
DAEMON_SRC := $(wildcard daemon/*.c $(addprefix daemon/,$(addsuffix /*.c, \
	supervisor collector control)))
MILTER_SRC := $(wildcard milter/*.c milter/policy/*.c)
TOOLS_SRC  := $(wildcard tools/*.c $(addprefix tools/,$(addsuffix /*.c, \
	ask backup dump egress flow replay reputation setup top)))
WEB_SRC    := $(wildcard tools/web/*.c)
# What tidemark-web has in common with tidemark: reading, asking, printing.
READ_SRC   := $(wildcard tools/read/*.c)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))

# All cores for what a target has to build first, unless make was told -j.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

LIB      = $(B)/libtidemark.a
PROGRAMS = $(B)/tidemarkd $(B)/tidemark-milter $(B)/tidemark $(B)/tidemark-web

all: $(PROGRAMS) man $(B)/tidemark.bash

# ---- what it needs -------------------------------------------------------

BUILD_DEPS = gcc libc6-dev liblmdb-dev libmilter-dev libjemalloc-dev \
	     libxxhash-dev libsodium-dev libidn2-dev libutf8proc-dev \
	     libzstd-dev libnftables-dev libncurses-dev libmicrohttpd-dev
TEST_DEPS  = $(BUILD_DEPS) m4 perl swaks sasl2-bin libsasl2-modules \
	     libsasl2-modules-db libdb5.3 libldap-2.5-0 libnsl2 libsasl2-2 \
	     libssl3 libwrap0 libicu72 lmdb-utils mandoc iproute2 nftables spin \
	     libgmime-3.0-dev pkgconf tmux curl chromium chromium-driver \
	     xz-utils
DEB_DEPS   = $(BUILD_DEPS) debhelper dpkg-dev fakeroot lintian git \
	     libgmime-3.0-dev pkgconf
BOX_DEPS   = systemd util-linux iproute2 nftables perl curl
LINT_DEPS  = clang clang-format clang-tidy cppcheck shellcheck \
	     gcc-aarch64-linux-gnu libc6-dev-arm64-cross

deps:
	@conf/deps.sh "building Tidemark" $(BUILD_DEPS)
deps-test:
	@conf/deps.sh "testing Tidemark" $(TEST_DEPS)
deps-deb:
	@conf/deps.sh "packaging Tidemark" $(DEB_DEPS)
deps-lint:
	@conf/deps.sh "checking Tidemark" $(TEST_DEPS) $(LINT_DEPS)

# ---- programs ------------------------------------------------------------

$(LIB): $(call obj,$(LIB_SRC))
	@rm -f $@
	ar rcs $@ $^

$(B)/tidemarkd: $(call obj,$(DAEMON_SRC)) $(LIB)
	$(LINK) -o $@ $^ $(LIBS) $(MALLOC)

$(B)/tidemark-milter: $(call obj,$(MILTER_SRC)) $(LIB)
	$(LINK) -o $@ $^ -lmilter $(LIBS) $(MALLOC)

$(B)/tidemark: $(call obj,$(TOOLS_SRC) $(READ_SRC)) $(LIB)
	$(LINK) -o $@ $^ -lncursesw -ltinfo $(LIBS) $(MALLOC)

$(B)/tidemark-web: $(call obj,$(WEB_SRC) $(READ_SRC)) $(LIB)
	$(LINK) -o $@ $^ -lmicrohttpd $(LIBS) $(MALLOC)

# The page is part of the program.
$(B)/obj/tools/web/assets.o: $(wildcard tools/web/page/*)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE) -MMD -MP -c -o $@ $<

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

# ---- tests ---------------------------------------------------------------
#
# tests/ has the product's folders again, and race, rig and others beside them.
# A t_*.c is a program; what needs more than the library says so here.
# Programs speak TAP; tests/run adds them up.

TESTLIB := $(call obj,$(wildcard tests/lib/*.c))
UNIT    := $(patsubst %.c,$(B)/%,$(wildcard tests/daemon/lib/*/t_*.c \
	tests/milter/t_*.c tests/milter/*/t_*.c tests/tools/*/t_*.c))
RACE    := $(patsubst %.c,$(B)/%,$(wildcard tests/race/t_*.c))

MTA := $(call obj,$(addprefix tests/load/,mta.c mta_command.c mta_macros.c \
	mta_changes.c wire.c))
BOX := $(call obj,tests/load/mailbox.c tests/load/address.c)

$(B)/obj/tests/%.o: OUR_CPPFLAGS += -Itests/lib -Itests/load -Itests/bench

$(B)/tests/%: $(B)/obj/tests/%.o $(TESTLIB) $(LIB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $(filter %.o,$^) $(LIB) $(TESTLIBS) $(LIBS)

FEED = $(B)/tests/load/feed
$(FEED): $(call obj,tests/load/replay.c tests/load/tally.c) $(MTA) $(BOX)
POLICY = $(B)/tests/load/policy
$(POLICY): $(call obj,tests/load/policy_client.c)
$(B)/tests/load/t_load: $(call obj,tests/load/probe.c) $(MTA)
$(B)/tests/load/t_load: TESTLIBS = -lmilter
$(B)/tests/load/t_mailbox: $(BOX)
$(B)/tests/milter/t_headers: $(call obj,milter/headers.c)
$(B)/tests/daemon/lib/text/t_text_gmime: $(call obj,tests/daemon/lib/text/oracle.c)
$(B)/tests/daemon/lib/text/t_text_gmime: TESTLIBS = $(shell pkg-config --libs gmime-3.0)
$(B)/tests/bench/b_text: TESTLIBS = $(shell pkg-config --libs gmime-3.0)
$(B)/obj/tests/daemon/lib/text/t_text_gmime.o $(B)/obj/tests/daemon/lib/text/oracle.o \
$(B)/obj/tests/bench/b_text.o: \
    OUR_CPPFLAGS += $(shell pkg-config --cflags gmime-3.0)
$(B)/tests/milter/t_tags: $(call obj,milter/tags.c)
$(B)/tests/milter/t_shares: $(call obj,milter/shares.c)
$(B)/tests/milter/t_roster: $(call obj,$(addprefix milter/,roster.c \
	roster_deadlines.c process.c lapses.c))
$(B)/tests/reproduce/reproduce: $(call obj,$(addprefix tests/reproduce/, \
	paper.c simulate.c))
$(B)/tests/milter/policy/t_requests: $(call obj,milter/policy/request.c \
	milter/policy/answer.c)
WEB_PARTS := $(call obj,$(addprefix tools/web/,form.c guard.c html.c mask.c \
	sheet.c) tools/read/json.c)
$(B)/tests/tools/web/t_parts: $(WEB_PARTS)
$(B)/tests/bench/b_bulk: $(call obj,tests/bench/split.c)
$(B)/tests/bench/nullthreaded: $(call obj,tests/bench/nullfilter.c)
$(B)/tests/bench/nullthreaded: TESTLIBS = -lmilter

$(B)/tests/bench/nullforked: $(call obj,tests/bench/nullfilter.c) \
	$(call obj,milter/serve.c)
$(B)/tests/bench/nullforked: TESTLIBS = -lmilter

# A wall clock that a test may step, for programs that are started with it.
STEPCLOCK = $(B)/tests/load/stepclock.so
$(STEPCLOCK): tests/load/stepclock.c
	@mkdir -p $(@D)
	$(CC) $(OUR_CPPFLAGS) $(WARN) -std=c11 -O2 -fPIC -shared -o $@ $<

LOADTESTS = $(B)/tests/load/t_load $(B)/tests/load/t_mailbox

# A fuzz target without the fuzzer, run over its seeds: a test like any other.
FUZZ  := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
SEEDS := $(addprefix $(B)/tests/fuzz/t_,$(FUZZ))

$(SEEDS): $(B)/tests/fuzz/t_%: $(B)/obj/tests/fuzz/fuzz_%.o \
    $(B)/obj/tests/fuzz/replay.o $(TESTLIB) $(LIB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $(filter %.o,$^) $(LIB) $(LIBS)
$(B)/tests/fuzz/t_policy $(B)/tests/fuzz/fuzz_policy: \
	$(call obj,milter/policy/request.c)
$(B)/tests/fuzz/t_web $(B)/tests/fuzz/fuzz_web: $(WEB_PARTS)
$(B)/tests/fuzz/t_setup $(B)/tests/fuzz/fuzz_setup: \
	$(call obj,$(addprefix tools/setup/,mc.c postfix_cf.c postfix_edit.c \
	postfix_list.c sendmail_cf.c text.c) tools/read/output.c)
SCRIPTS  := $(wildcard $(addsuffix /t_*.sh,$(addprefix tests/,daemon milter \
	milter/* tools tools/* tree race demo rig model reproduce upgrade)))

REMEMBERED = $(B)/tests/load/remembered
MANAGER    = $(B)/tests/load/manager
REPRODUCE  = $(B)/tests/reproduce/reproduce

CORPUS = $(B)/tests/corpus/memory $(B)/tests/corpus/spam_rates

# What scripts ask for, beside the product.
HELPERS = $(FEED) $(POLICY) $(STEPCLOCK) $(REMEMBERED) $(MANAGER) $(REPRODUCE) \
	  $(CORPUS)

TESTS = $(UNIT) $(RACE) $(LOADTESTS) $(SEEDS)

test-programs: all $(HELPERS) $(TESTS)

# exec: a make that is killed tells those it started, not those behind a shell.
RUN = exec env B=$(B) FEED=$(FEED) tests/run $(addprefix -j,$(J))

# Those of T=NAME, in whichever folders they lie; also what `make test' leaves
# to others.
EVERY  = $(TESTS) $(sort $(shell find tests -name 't_*.sh'))
named  = $(filter %/$(1) $(1) %/$(1).sh $(1).sh,$(EVERY))
NAMES  = $(sort $(basename $(notdir $(EVERY))))
stem   = $(patsubst t_%,%,$(basename $(notdir $(1))))
near   = $(patsubst tests/%,%,$(patsubst $(B)/%,%,$(strip $(foreach n,$(EVERY), \
	 $(if $(findstring $(stem),$(notdir $(n))),$(n))))))
CHOSEN = $(foreach t,$(T:.c=),$(or $(call named,$(t)),$(error no test is \
	 called $(t).  There are: $(or $(call near,$(t)),$(NAMES)))))

# What they are made of: themselves, or all that a script may start.
needs  = $(filter $(B)/%,$(1)) $(if $(filter %.sh,$(1)),all $(HELPERS)) \
	 $(if $(filter tests/deb/%,$(1)),deb)

run: deps
	@$(MAKE) -s $(JOBS) all $(FEED)
	@B=$(B) FEED=$(FEED) tests/demo/run.sh run

test: deps-test
	@$(MAKE) -s $(JOBS) $(if $(T),$(call needs,$(CHOSEN)),test-programs)
	@$(RUN) $(if $(T),$(CHOSEN),$(TESTS) $(SCRIPTS))

# The unit tests.  A package is tested with them while it is built: they need
# nothing but what it is built with.
check:
	@$(MAKE) -s $(JOBS) $(UNIT)
	@$(RUN) $(UNIT)

# A paper's tables through our own counting filter, 1,000 rounds: minutes.
reproduce: deps
	@$(MAKE) -s $(JOBS) $(REPRODUCE)
	@$(REPRODUCE)
	@$(MAKE) -s reproduce-memory

# Unit and race tests of a sanitizer build.
check-san:
	@$(MAKE) -s $(JOBS) $(TESTS)
	@$(RUN) $(TESTS)

check-asan: deps-test
	@$(MAKE) B=$(B)/asan SAN=address,undefined check-san
	@$(MAKE) -s $(JOBS) B=$(B)/asan SAN=address,undefined \
	    $(B)/asan/tidemark-web
	@$(MAKE) -s $(JOBS) all $(FEED)
	@export WEB=$(B)/asan/tidemark-web; $(RUN) tests/tools/web/t_web.sh
check-tsan: deps-test
	@$(MAKE) B=$(B)/tsan SAN=thread check-san

# make test, and everything that takes longer or builds another way; one sum of
# all.  Nothing is run twice: what a part has in common with another it leaves
# to that.
REST = check-asan check-tsan storm check-table check-corpus check-clang lint \
	check-deb

test-all: PARTS = test $(REST)
test-rest: PARTS = $(REST)
test-all test-rest: deps-lint
	@mkdir -p $(B) && rm -f $(B)/results
	@exec env RESULTS=$(CURDIR)/$(B)/results tests/each \
	    $(foreach part,$(PARTS),"$(MAKE) $(part)")

# Those that know a longer form of themselves, and leave out what is no longer.
STORMS = $(filter %/t_bulk %/t_counting,$(RACE)) \
	$(filter %/t_processes.sh %/t_model.sh,$(SCRIPTS))

storm: deps-test
	@$(MAKE) -s $(JOBS) test-programs
	@export STORM=1; $(RUN) $(STORMS)

# The figures of memory: the published table in full, and a corpus of real mail.
HBF = $(filter %/t_hbf,$(UNIT))

check-memory: check-table check-corpus
check-table: deps-test
	@$(MAKE) -s $(JOBS) $(HBF)
	@export REPRODUCE=1 CASE='false positives are as predicted'; \
	    $(RUN) $(HBF)
check-corpus: deps-test
	@$(MAKE) -s $(JOBS) $(CORPUS)
	@export REPRODUCE=1; $(RUN) $(wildcard tests/corpus/t_*.sh)
reproduce-memory: deps-test
	@$(MAKE) -s $(JOBS) $(HBF) $(CORPUS)
	@REPRODUCE=1 $(HBF)
	@B=$(B) REPRODUCE=1 sh tests/corpus/t_memory.sh

check-clang: deps-lint
	@$(MAKE) -s $(JOBS) CC=clang B=$(B)/clang test-programs

# ---- fuzz ----------------------------------------------------------------

TIME = 60

fuzz: deps-lint
	@$(MAKE) -s $(JOBS) B=$(B)/fuzz CC=clang \
	    SAN=address,undefined,fuzzer-no-link fuzz-programs
	@tests/fuzz/run.sh $(B)/fuzz $(TIME)

FUZZERS = $(addprefix $(B)/tests/fuzz/fuzz_,$(FUZZ))
fuzz-programs: $(FUZZERS)

$(FUZZERS): OUR_LDFLAGS += -fsanitize=fuzzer

# ---- lint ----------------------------------------------------------------

SOURCES = $(shell find include daemon milter tools tests -name '*.[ch]')

PRODUCT = $(filter-out tests/%,$(filter %.c,$(SOURCES)))

TIDY = $(addprefix tidy/,$(PRODUCT))
$(TIDY): tidy/%:
	@clang-tidy --quiet --warnings-as-errors='*' $* -- \
	    $(OUR_CPPFLAGS) -std=c11 2>/dev/null

lint: deps-lint
	@clang-format --dry-run -Werror $(SOURCES)
	@$(MAKE) -s $(JOBS) $(TIDY)
	@cppcheck -j $$(nproc) --quiet --error-exitcode=1 --std=c11 --inline-suppr \
	    --enable=warning,portability,performance -Iinclude \
	    --suppress=missingIncludeSystem \
	    --suppress=ctuuninitvar --suppress=uninitStructMember \
	    --suppress=funcArgOrderDifferent -D_GNU_SOURCE \
	    $(PRODUCT)
	@shellcheck -x -e SC2317 conf/*.sh tests/run tests/each \
	    $$(find tests -name '*.sh')

# ---- manual pages --------------------------------------------------------

# Pages lie beside the programs; some are made from tables.
MANUALS := $(filter-out build/%,$(wildcard */tidemark*.[1-9] \
	*/man/tidemark*.[1-9] */web/tidemark*.[1-9]))
MADE     = $(B)/man/tidemark.conf.5 $(B)/man/tidemark-counters.7

man: $(MADE)

$(B)/man/tidemark.conf.5: conf/tidemark.conf.5.in $(B)/tidemark
	@mkdir -p $(@D)
	@$(B)/tidemark config --man >$@.list
	@sed -e '/^@PARAMS@$$/{r $@.list' -e 'd}' $< >$@
	@rm -f $@.list

$(B)/man/tidemark-counters.7: tools/man/tidemark-counters.7.in $(B)/tidemark
	@mkdir -p $(@D)
	@$(B)/tidemark counters --man >$@.list
	@sed -e '/^@COUNTERS@$$/{r $@.list' -e 'd}' $< >$@
	@rm -f $@.list

# A page that goes by several names is linked to from the others.
MANDIR = $(PREFIX)/share/man

install-man: man
	@for page in $(sort $(MANUALS)) $(MADE); do \
	    n=$${page##*.}; to=$(DESTDIR)$(MANDIR)/man$$n; \
	    install -d $$to && install -m 644 $$page $$to || exit 1; \
	    sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([^ ]*\).*/\1/p' $$page | \
	    while read -r name; do \
	        test $$name.$$n = $${page##*/} || \
	            ln -sf $${page##*/} $$to/$$name.$$n || exit 1; \
	    done || exit 1; \
	done

# ---- completion ----------------------------------------------------------

$(B)/tidemark.bash: $(B)/tidemark
	@$(B)/tidemark completion bash >$@

# ---- install -------------------------------------------------------------

install: all install-man
	install -d $(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(B)/tidemarkd $(B)/tidemark-milter $(B)/tidemark-web \
	    $(DESTDIR)$(PREFIX)/sbin
	install -m 755 $(B)/tidemark $(DESTDIR)$(PREFIX)/bin
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 644 $(B)/tidemark.bash \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tidemark
	install -d $(DESTDIR)$(PREFIX)/share/tidemark/sendmail \
	    $(DESTDIR)$(PREFIX)/share/tidemark/postfix
	install -m 644 conf/sendmail/* $(DESTDIR)$(PREFIX)/share/tidemark/sendmail
	install -m 644 conf/postfix/* $(DESTDIR)$(PREFIX)/share/tidemark/postfix
	install -d $(DESTDIR)$(PREFIX)/share/tidemark/hook
	install -m 755 conf/hook/ban-* $(DESTDIR)$(PREFIX)/share/tidemark/hook
	for unit in conf/hook/*.path conf/hook/*.service; do \
	    sed 's|@SHAREDIR@|$(PREFIX)/share/tidemark|' $$unit \
		>$(DESTDIR)$(PREFIX)/share/tidemark/hook/$${unit##*/} || \
	    exit 1; done
	install -d $(DESTDIR)/etc/tidemark/conf.d
	test -e $(DESTDIR)/etc/tidemark/tidemark.conf || \
	    install -m 644 conf/tidemark.conf $(DESTDIR)/etc/tidemark
	install -d $(DESTDIR)$(UNITDIR)/postfix.service.wants
	for unit in conf/systemd/*.service conf/systemd/*.mount; do \
	    sed -e 's|@SBINDIR@|$(PREFIX)/sbin|' -e 's|@BINDIR@|$(PREFIX)/bin|' \
		$$unit >$(DESTDIR)$(UNITDIR)/$${unit##*/} || exit 1; done
	ln -sf ../var-spool-postfix-run-tidemark.mount \
	    $(DESTDIR)$(UNITDIR)/postfix.service.wants
	install -D -m 644 conf/systemd/tidemark.sysusers.conf \
	    $(DESTDIR)$(SYSUSERSDIR)/tidemark.conf
	install -D -m 644 conf/systemd/tidemark.tmpfiles.conf \
	    $(DESTDIR)$(TMPFILESDIR)/tidemark.conf

# ---- Debian packages -----------------------------------------------------

deb: deps-deb
	@B=$(B) conf/deb.sh $(VERSION)

# Starts nothing on this machine: an overlay over it, in namespaces.
check-deb: deb
	@conf/deps.sh "testing the packages" $(BOX_DEPS)
	@$(MAKE) -s $(JOBS) $(FEED)
	@$(RUN) $(wildcard tests/deb/t_*.sh)

# ---- bench ---------------------------------------------------------------

BENCH = $(patsubst tests/bench/%.c,$(B)/tests/bench/%, \
	$(wildcard tests/bench/b_*.c))

bench: deps-test
	@$(MAKE) -s $(JOBS) all $(FEED) $(BENCH) $(B)/tests/bench/nullthreaded \
	    $(B)/tests/bench/nullforked $(B)/tests/bench/nullpolicy $(POLICY)
	@for b in $(BENCH); do $$b || exit 1; done
	@B=$(B) FEED=$(FEED) tests/bench/milter.sh
	@B=$(B) tests/bench/policy.sh
	@B=$(B) FEED=$(FEED) tests/bench/watched.sh

clean:
	rm -rf $(B) run

.PHONY: $(TIDY) all deps deps-test deps-lint deps-deb run test test-all \
	test-rest test-programs check deb check-deb check-san check-asan \
	check-tsan check-clang check-memory check-table check-corpus storm fuzz \
	fuzz-programs reproduce-memory lint man install install-man bench \
	reproduce clean
.SECONDARY:
.DELETE_ON_ERROR:
