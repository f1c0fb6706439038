#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# queue-test.sh: the patch queue keeps its promises.  TAP.
set -u

. "$(dirname "$0")/tap.sh"
tap_begin queue

names() {
    sed 's/[[:space:]]*#.*//' patches/series | grep .
}

complete() {
    names | sort >"$tmp/series"
    (cd patches && ls ./*.patch) | sed 's|^\./||' | sort >"$tmp/files"
    diff "$tmp/series" "$tmp/files"
}

at_most() {     # WHAT LIMIT NUMBER
    echo "$3 $1, at most $2 allowed"
    [ "$3" -le "$2" ] && [ "$3" -gt 0 ]
}

added_c() {
    awk '/^diff --git/ { c = /\.[ch]$/ } c && /^\+[^+]/ { n++ }
         END { print n + 0 }' patches/*.patch
}

# grep -L: names of the files without the line
each_has() {
    missing=$(grep -L -E "$1" patches/*.patch)
    [ -z "$missing" ] || { echo "without $1: $missing"; false; }
}

none_has() {
    ! grep -n -E "$1" patches/*.patch
}

hunks_are_lean() {
    awk '/^@@/ { split($2, a, ","); split($3, b, ",") ; ctx = 0; add = 0 }
         /^ / { ctx++ } /^[+-]/ && !/^(\+\+\+|---)/ { add++; ctx = 0 }
         ctx > 4 { print FILENAME ": " FNR ": more than two lines of context";
                   bad = 1 }
         END { exit bad }' patches/*.patch
}

only_in_header() {
    ./scripts/pinning/hooks | grep -v '^#' | sort -u >"$tmp/calls"
    [ -s "$tmp/calls" ] || { echo "no calls found"; return 1; }
    while read -r call; do
        grep -q "\<$call(" include/system/pinning.h include/monitor/*.h \
            2>/dev/null || case $call in
        hmp_*) ;;
        *) echo "$call is not in include/system/pinning.h"; return 1 ;;
        esac
    done <"$tmp/calls"
}

plain_tree() {
    mkdir -p "$1"
    tar -C "$1" --strip-components=1 --exclude='*/roms/*' \
        -xf "$(ls build/source/*.orig.tar.xz)"
}

applies_to_plain() {
    plain_tree "$tmp/plain" && scripts/pinning/apply-series "$tmp/plain" patches
}

applies_to_debian() {
    plain_tree "$tmp/debian" &&
        tar -C "$tmp/debian" -xf "$(ls build/source/*.debian.tar.xz)" &&
        scripts/pinning/apply-series "$tmp/debian" \
            "$tmp/debian/debian/patches" --skip-missing-roms &&
        scripts/pinning/apply-series "$tmp/debian" patches
}

twice_is_told() {
    scripts/pinning/apply-series "$tmp/plain" patches >"$tmp/twice" 2>&1 &&
        return 1
    grep 'is already applied' "$tmp/twice"
}

overlay_refuses() {
    mkdir -p "$tmp/taken/util"
    echo theirs >"$tmp/taken/util/cpulist.c"
    scripts/pinning/overlay "$tmp/taken" >"$tmp/over" 2>&1 && return 1
    grep "would overwrite QEMU's own util/cpulist.c" "$tmp/over" &&
        grep -qx theirs "$tmp/taken/util/cpulist.c"
}

ok "series and files agree" complete
ok "few patches" at_most patches 15 "$(names | wc -l)"
ok "few added lines of C" at_most lines 60 "$(added_c)"
ok "no #ifdef" none_has '^\+ *# *if'
ok "signed off" each_has '^Signed-off-by: .+ <.+@.+>'
ok "says whether it was forwarded" each_has '^Forwarded: '
ok "says when it was last touched" each_has '^Last-Update: '
ok "says when it can go" each_has '^Remove-when: '
ok "two lines of context" hunks_are_lean
ok "calls only what include/system/pinning.h declares" only_in_header
if [ -f build/source/LOCK ]; then
    ok "applies to the plain source" applies_to_plain
    ok "applies to Debian's source" applies_to_debian
    ok "a second time is told from a failure" twice_is_told
    ok "refreshing changes nothing" scripts/pinning/refresh-patches --check
else
    echo "ok $((n + 1)) - queue: applies # SKIP built from --qemu-source"
    n=$((n + 1))
fi
ok "the overlay overwrites nothing" overlay_refuses
echo "1..$n"
exit $failed
