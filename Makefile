# SPDX-License-Identifier: GPL-2.0-or-later
#
# make            build build/bin/qemu-system-x86_64, qemu-img, qemu-pinning
# make demo       the above on a fresh machine, then guests that are pinned
# make check      all tests that need no hardware
# make deb        Debian packages, in build/deb
# make dist       the release, in build/dist
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

# Not to be disturbed by machines that run here
ALONE = scripts/pinning/alone
CHECKS = check-queue check-style check-unit check-qtest check-off \
         check-start check-sanitizers check-corpus check-topology \
         check-registry check-status check-interface check-docs \
         check-libvirt check-bench check-packaging check-harness \
         check-demo check-lab
.PHONY: $(CHECKS) check-fuzz check-verify stock lab-shell docs
check: INSTALL = --install-deps=build,check,libvirt,lab
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
	    $(ALONE) $(BUILD)/qemu/tests/qtest/pinning-test --tap -k

stock:
	@./configure --build=$(BUILD) --stock >&2
	@ninja -C $(BUILD)/stock/qemu qemu-system-x86_64 | scripts/pinning/brief >&2
	@scripts/pinning/link-results $(BUILD)/stock qemu-system-x86_64

check-off: stock
	@$(ALONE) tests/pinning/off-test.py $(QEMU) $(BUILD)/stock/bin/qemu-system-x86_64

check-start:
	@$(ALONE) tests/pinning/start-test.py $(QEMU) $(BUILD)/bin/qemu-img

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
	@PINNING_TOPOLOGIES=$(wildcard ../shared/topologies) \
	    tests/pinning/tool-test.py $(BUILD)/bin/qemu-pinning

check-registry:
	@tests/pinning/registry-tool.py $(BUILD)/bin/qemu-pinning
	@tests/pinning/registry-race.py --qemu $(QEMU) $(BUILD)/bin/qemu-pinning

check-status:
	@$(ALONE) tests/pinning/status-test.py $(QEMU) $(BUILD)/bin/qemu-pinning

check-interface:
	@$(ALONE) tests/pinning/interface-test.py $(QEMU)

check-docs:
	@$(ALONE) tests/pinning/docs-test.py $(QEMU) $(BUILD)/bin/qemu-pinning

check-libvirt:
	@./configure --build=$(BUILD) --install-deps=libvirt >&2
	@$(ALONE) tests/pinning/libvirt-test.py $(QEMU) $(BUILD)/bin/qemu-pinning

check-lab:
	@tests/lab/run $(if $(TOPO),--topo $(TOPO)) \
	    $(if $(KERNEL),--kernel $(KERNEL)) $(TEST)

# Nothing else runs what a new user runs first
check-demo:
	@if scripts/pinning/demo $(QEMU) >&2; then echo ok 1 - demo; \
	    else echo not ok 1 - demo; exit 1; fi
	@echo 1..1

# What the lab promises about itself, even if it is killed
check-harness:
	@tests/lab/selftest

check-bench:
	@tests/bench/selftest $(BUILD)

check-packaging:
	@tests/pinning/packaging-test.sh $(BUILD)

# --- packages and releases -------------------------------------------------

.PHONY: deb check-deb dist check-next
deb: INSTALL = --install-deps=build,deb
deb: configured
	@scripts/pinning/build-deb $(BUILD)

# Not part of check: needs root, and fetches a Debian
check-deb: INSTALL = --install-deps=build,deb,check-deb
check-deb: configured
	@ls $(BUILD)/deb/*.deb >/dev/null 2>&1 || \
	    scripts/pinning/build-deb $(BUILD)
	@scripts/pinning/tap tests/pinning/deb-test.sh $(BUILD)

dist:
	@scripts/pinning/dist $(BUILD)/dist

# Not part of check: our files and patches on the newest QEMU that Debian has
NEXT = $(BUILD)/next
check-next:
	@./configure --build=$(NEXT) --next $(INSTALL) $(CONFIGURE_FLAGS)
	@ninja -C $(NEXT)/qemu $(NEXT_PROGRAMS) | scripts/pinning/brief
	@scripts/pinning/link-results $(NEXT) $(filter-out tests/%,$(NEXT_PROGRAMS))
	@scripts/pinning/tap $(MAKE) -k -s --no-print-directory \
	    BUILD=$(NEXT) check-unit check-qtest check-verify
NEXT_PROGRAMS = qemu-system-x86_64 softmmu/tool/qemu-pinning \
                tests/qtest/pinning-test $(UNIT_TESTS)

check-verify:
	@scripts/pinning/verify-build $(QEMU)

# --- figures: nothing here passes or fails ---------------------------------

BENCH = $(addprefix softmmu/tool/,pinning-plan-bench registry-bench read-bench)
.PHONY: bench bench-quick bench-programs bench-docs
bench-programs: all stock
	@ninja -C $(BUILD)/qemu $(BENCH) | scripts/pinning/brief

# An hour at most, ten minutes at most
bench bench-quick: INSTALL = --install-deps=build,bench,lab,libvirt
bench: bench-programs
	@tests/bench/run --build $(BUILD) $(PART)
bench-quick: bench-programs
	@tests/bench/run --build $(BUILD) --quick $(PART)

# The results that there are, into docs/benchmarks.md
bench-docs:
	@tests/bench/publish $(BUILD)/bench

# QEMU's manual with ours in it, and the manual page of qemu-pinning
docs: INSTALL = --install-deps=build,docs
docs: configured
	@scripts/pinning/build-docs $(BUILD)

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
	@echo 'make docs       the manual, in build/docs'
	@echo 'make bench      what placement gains and costs; PART=… one part of it'
	@echo 'make bench-quick  the same with fewer runs, in ten minutes'
	@echo 'make bench-docs the figures of the last bench into docs/benchmarks.md'
	@echo 'make stock      QEMU without our changes, in build/stock/bin'
	@echo 'make check-deb  install, use and purge the packages in a clean Debian'
	@echo 'make check-next build and test on a newer QEMU'
	@echo 'make clean, make distclean'
