#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# style-test.sh TREE: our C files pass QEMU's checkpatch, no function is long,
# nothing names an archive's host or a path of the machine.  TAP.
set -u

. "$(dirname "$0")/tap.sh"
tree=$(cd "$1" && pwd)
tap_begin style

ours() {
    if git rev-parse -q --git-dir >/dev/null 2>&1; then
        git ls-files -co --exclude-standard -- "$@" |
            while read -r f; do [ ! -f "$f" ] || echo "$f"; done
    else
        for pattern; do
            find . -path ./build -prune -o -type f -name "$pattern" -print
        done | sed 's|^\./||'
    fi
}

checkpatch() {
    ours '*.c' '*.h' >"$tmp/files"
    [ "$(wc -l <"$tmp/files")" -gt 20 ] || { echo "too few files"; return 1; }
    # shellcheck disable=SC2046
    perl "$tree/scripts/checkpatch.pl" --no-tree --no-summary --terse \
        -f $(cat "$tmp/files") 2>&1 |
        grep -v -e 'MAINTAINERS need updating' -e '^$' |
        grep -E 'ERROR|WARNING|checkpatch' && return 1
    return 0
}

short_functions() {
    ours '*.c' | xargs awk '
        FNR == 1 { start = 0 }
        /^\{/ { start = FNR }
        /^\}/ { if (start && FNR - start > 61) {
                    print FILENAME ":" start ": " FNR - start " lines"
                    bad = 1
                }
                start = 0 }
        END { exit bad }'
}

# The pattern is put together so that this file does not have it
no_places() {
    hosts="https?://[^ /]*(deb""ian|np""m)"
    ours '*' | grep -v '^COPYING' | xargs grep -nIE "$hosts" && return 1
    ours '*' | xargs grep -nIF "$top/" && return 1
    return 0
}

licensed() {
    ours '*.c' '*.h' '*.py' '*.sh' '*.json' |
        grep -v '^tests/data/' | grep -v '^tests/fuzz/corpus/' |
        xargs grep -L 'SPDX-License-Identifier: GPL-2.0-or-later' >"$tmp/lic"
    cat "$tmp/lic"
    [ ! -s "$tmp/lic" ]
}

# Newer QEMUs refuse a longer one
short_doc_lines() {
    ! awk '/^#/ && length > 70 { print FILENAME ":" FNR ": " $0 }' \
        qapi/*.json | grep .
}

moved_headers() {
    ! ours '*.c' '*.h' | grep -v '^include/system/pinning-qemu.h$' |
        xargs grep -nE '#include "(exec/memory|hw/(boards|qdev-core)).h"'
}

ok "checkpatch" checkpatch
ok "QAPI documentation in 70 columns" short_doc_lines
ok "headers that have moved by system/pinning-qemu.h only" moved_headers
ok "functions of at most 60 lines" short_functions
ok "no archive host, no path of this machine" no_places
ok "licence" licensed
echo "1..$n"
exit $failed
