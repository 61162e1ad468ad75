# Tidemark.  One Makefile for everything; all that is made lies below build/.
#
#   make             build/tidemarkd build/tidemark-milter build/tidemark
#   make run         the product at work, in ./run (no root, no mail server)
#   make test        every test that fits in ten minutes, real sendmail too
#   make test-all    the same, then sanitizer builds, storms and lint
#   make check-asan  unit and race tests under ASan and UBSan
#   make check-tsan  the same under TSan
#   make lint        clang-format, clang-tidy, cppcheck
#   make bench       ratios against null filters and plain structures
#   make deps        what building needs (apt as root; else says the line)
#   make install     DESTDIR= PREFIX=
#   make clean
#
# Options:
#   CC=clang         either compiler; both build without a warning
#   B=DIR            where to build (the sanitizer builds use their own)
#   SAN=LIST         -fsanitize=LIST, without jemalloc

CC      = gcc
B       = build
SAN     =
PREFIX  = /usr/local
DESTDIR =
VERSION = 0.1

MAKEFLAGS += --no-builtin-rules --no-print-directory

OPT      = -O2 -g
HARDEN   = -fstack-protector-strong -fstack-clash-protection \
	   -D_FORTIFY_SOURCE=2 -fcf-protection -fPIE
WARN     = -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes \
	   -Wmissing-prototypes -Wpointer-arith -Wvla -Werror
CPPFLAGS = -D_GNU_SOURCE -Iinclude -DTIDE_VERSION='"$(VERSION)"'
CFLAGS   = -std=c11 $(OPT) $(HARDEN) $(WARN) -fvisibility=hidden -pthread
LDFLAGS  = -pie -Wl,-z,relro,-z,now -Wl,--as-needed -pthread
MALLOC   = -Wl,--no-as-needed -ljemalloc -Wl,--as-needed

ifneq ($(SAN),)
OPT      = -O1 -g -fno-omit-frame-pointer
HARDEN   = -fPIE
CFLAGS  += -fsanitize=$(SAN) -fno-sanitize-recover=all
LDFLAGS += -fsanitize=$(SAN)
MALLOC   =
endif

CORELIBS = -llmdb -lxxhash -lm

# ---- what is made of what ------------------------------------------------

CORE_SRC   := $(wildcard daemon/core/*.c)
DAEMON_SRC := $(wildcard daemon/*.c)
MILTER_SRC := $(wildcard milter/*.c)
TOOLS_SRC  := $(wildcard tools/*.c)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))

LIB      = $(B)/libtidemark.a
PROGRAMS = $(B)/tidemarkd $(B)/tidemark-milter $(B)/tidemark

all: $(PROGRAMS) man

$(LIB): $(call obj,$(CORE_SRC))
	@rm -f $@
	ar rcs $@ $^

$(B)/tidemarkd: $(call obj,$(DAEMON_SRC)) $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(CORELIBS) $(MALLOC)

$(B)/tidemark-milter: $(call obj,$(MILTER_SRC)) $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ -lmilter $(CORELIBS) $(MALLOC)

$(B)/tidemark: $(call obj,$(TOOLS_SRC)) $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(CORELIBS) $(MALLOC)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

# ---- tests ---------------------------------------------------------------
#
# tests/core and tests/race hold one program a file; what needs more than the
# library says so here.  Programs speak TAP; tests/run adds them up.

TESTLIB := $(call obj,$(wildcard tests/lib/*.c))
UNIT    := $(patsubst %.c,$(B)/%,$(wildcard tests/core/t_*.c))
RACE    := $(patsubst %.c,$(B)/%,$(wildcard tests/race/t_*.c))

MTA := $(call obj,$(addprefix tests/load/,mta.c mta_command.c mta_macros.c \
	mta_changes.c wire.c))
BOX := $(call obj,tests/load/mailbox.c tests/load/address.c)

$(B)/obj/tests/%.o: CPPFLAGS += -Itests/lib -Itests/load -Itests/bench -Imilter

$(B)/tests/%: $(B)/obj/tests/%.o $(TESTLIB) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(TESTLIBS) $(CORELIBS)

FEED = $(B)/tests/load/feed
$(FEED): $(call obj,tests/load/replay.c tests/load/tally.c) $(MTA) $(BOX)
$(B)/tests/load/t_load: $(call obj,tests/load/probe.c) $(MTA)
$(B)/tests/load/t_load: TESTLIBS = -lmilter
$(B)/tests/load/t_mailbox: $(BOX)
$(B)/tests/bench/nullthreaded: $(call obj,tests/bench/nullfilter.c)
$(B)/tests/bench/nullthreaded: TESTLIBS = -lmilter

.SECONDARY:
.DELETE_ON_ERROR:
