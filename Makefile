# SPDX-License-Identifier: GPL-2.0-or-later
#
# make            build build/bin/qemu-system-x86_64, qemu-img, qemu-pinning
# make demo       the above on a fresh machine, then guests that are pinned
# make check      all tests that need no hardware
# make help       everything that can be made

SHELL = /bin/sh
BUILD = build
QEMU = $(BUILD)/bin/qemu-system-x86_64
PROGRAMS = qemu-system-x86_64 qemu-img softmmu/tool/qemu-pinning
UNIT_TESTS := $(patsubst tests/unit/%.c,tests/unit/%,\
                         $(wildcard tests/unit/test-*.c))
CONFIGURE_FLAGS =
# What was compiled in one folder is known in another: in a second clone, and
# for the stock QEMU that ours is compared with
export CCACHE_BASEDIR = $(abspath $(BUILD))
export CCACHE_NOHASHDIR = 1
INSTALL =

.PHONY: all configured demo check clean distclean help
all: configured
	@ninja -C $(BUILD)/qemu $(PROGRAMS) | scripts/pinning/brief
	@scripts/pinning/link-results $(BUILD) $(PROGRAMS)

# Cheap when there is nothing to do, so it needs no time stamps of its own
configured:
	@./configure --build=$(BUILD) $(INSTALL) $(CONFIGURE_FLAGS)

demo: INSTALL = --install-deps=build,lab
demo: all
	@scripts/pinning/demo $(QEMU)
	@tests/lab/demo

lab-shell: INSTALL = --install-deps=build,lab
lab-shell: all
	@tests/lab/shell $(if $(TOPO),--topo $(TOPO))

# --- tests: each prints TAP, scripts/pinning/tap adds them up -------------

CHECKS = check-queue check-style check-unit check-qtest check-off \
         check-sanitizers check-corpus check-topology check-registry check-lab
.PHONY: $(CHECKS) check-fuzz stock lab-shell
check: INSTALL = --install-deps=build,check,lab
check: all
	@scripts/pinning/tap $(MAKE) -k -s --no-print-directory $(CHECKS)

check-queue:
	@tests/pinning/queue-test.sh

check-style:
	@tests/pinning/style-test.sh $(BUILD)/tree

check-unit:
	@ninja -C $(BUILD)/qemu $(UNIT_TESTS) | scripts/pinning/brief >&2
	@scripts/pinning/run-unit $(BUILD)/qemu $(UNIT_TESTS)

check-qtest:
	@ninja -C $(BUILD)/qemu tests/qtest/pinning-test | \
	    scripts/pinning/brief >&2
	@QTEST_QEMU_BINARY=$(abspath $(QEMU)) \
	    $(BUILD)/qemu/tests/qtest/pinning-test --tap -k

stock:
	@./configure --build=$(BUILD) --stock >&2
	@ninja -C $(BUILD)/stock/qemu qemu-system-x86_64 | scripts/pinning/brief >&2
	@scripts/pinning/link-results $(BUILD)/stock qemu-system-x86_64

check-off: stock
	@tests/pinning/off-test.py $(QEMU) $(BUILD)/stock/bin/qemu-system-x86_64

check-sanitizers:
	@scripts/pinning/run-sanitized $(BUILD) $(UNIT_TESTS)

check-corpus:
	@scripts/pinning/run-fuzz $(BUILD) replay

# Not part of check: a minute for each fuzzer
check-fuzz: INSTALL = --install-deps=build,fuzz
check-fuzz: all
	@scripts/pinning/tap scripts/pinning/run-fuzz $(BUILD) fuzz

check-topology:
	@tests/pinning/topology-truth.py $(BUILD)/bin/qemu-pinning \
	    ../shared/topologies
	@tests/pinning/capture-test.py
	@tests/pinning/tool-test.py $(BUILD)/bin/qemu-pinning

check-registry:
	@tests/pinning/registry-tool.py $(BUILD)/bin/qemu-pinning
	@tests/pinning/registry-race.py $(BUILD)/bin/qemu-pinning

check-lab:
	@tests/lab/run $(if $(TOPO),--topo $(TOPO)) \
	    $(if $(KERNEL),--kernel $(KERNEL)) $(TEST)

# --- figures: nothing here passes or fails ---------------------------------

BENCH = softmmu/tool/pinning-plan-bench softmmu/tool/registry-bench
.PHONY: bench
bench: INSTALL = --install-deps=build,bench
bench: all
	@ninja -C $(BUILD)/qemu $(BENCH) | scripts/pinning/brief
	@echo '--- planner'
	@$(BUILD)/qemu/softmmu/tool/pinning-plan-bench
	@echo '--- registry: the 100th start against the first'
	@$(BUILD)/qemu/softmmu/tool/registry-bench $(QEMU) -machine none \
	    -nodefaults -display none -dump-vmstate /dev/null
	@echo '--- reading a host'
	@scripts/pinning/bench-trees $(BUILD) ../shared/topologies | \
	    xargs tests/bench/read-bench.py $(BUILD)/bin/qemu-pinning

clean:
	@rm -rf $(BUILD)/qemu $(BUILD)/stock $(BUILD)/bin $(BUILD)/sanitized

distclean:
	@rm -rf $(BUILD)

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile
	@echo 'make check-…    one part of it: $(CHECKS:check-%=%)'
	@echo 'make check-lab TEST=… TOPO=… KERNEL=…   one lab test'
	@echo 'make check-fuzz  a minute of fuzzing for each parser'
	@echo 'make lab-shell TOPO=4x2x2               a prompt in a lab host'
	@echo 'make bench      figures: planner, registry, reading a host'
	@echo 'make stock      QEMU without our changes, in build/stock/bin'
	@echo 'make clean, make distclean'
