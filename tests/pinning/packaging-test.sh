#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packaging-test.sh BUILD: what distributions take from us.  TAP.
set -u

. "$(dirname "$0")/tap.sh"
build=$(cd "$1" && pwd)
tap_begin packaging

plain_tree() {
    mkdir -p "$1"
    tar -C "$1" --strip-components=1 --exclude='*/roms/*' \
        -xf "$(ls "$build"/source/*.orig.tar.xz)"
}

# What ./configure makes of the plain source
our_tree() {
    plain_tree "$tmp/ours" && cp -R "$tmp/ours" "$tmp/patched" &&
        scripts/pinning/apply-series "$tmp/ours" patches &&
        scripts/pinning/overlay "$tmp/ours" --copy && rm "$tmp/ours/.overlay"
}

# As most distributions do it
apply_export() {
    while read -r patch; do
        patch -d "$tmp/patched" -s -p1 -F0 -f --no-backup-if-mismatch \
            <"$tmp/export/$patch" || return 1
    done <"$tmp/export/series"
}

exported_series() {
    scripts/pinning/export-quilt "$tmp/export" && our_tree && apply_export &&
        diff -r "$tmp/ours" "$tmp/patched" &&
        test -x "$tmp/patched/scripts/pinning/capture-topology"
}

quilt_takes_it_back() {
    (cd "$tmp/patched" && mkdir .pc && echo 2 >.pc/.version &&
        echo "$tmp/export" >.pc/.quilt_patches && echo series \
            >.pc/.quilt_series && rm -rf "$tmp/fresh" && cd "$tmp" &&
        plain_tree fresh && cp -R patched/.pc fresh/ && cd fresh &&
        quilt push -a -q --fuzz=0 && rm -rf "$tmp/patched/.pc" &&
        diff -r -x .pc . "$tmp/ours" && quilt pop -a -q && cd .. &&
        rm -rf fresh/.pc && plain_tree again &&
        find fresh again -depth -type d -empty -delete &&
        diff -r fresh again)
}

same_export() {
    cp -R "$tmp/export" "$tmp/first" && scripts/pinning/export-quilt \
        "$tmp/export" && diff -r "$tmp/first" "$tmp/export"
}

# A release that lacked a file could not make the same release again
release_of_release() {
    scripts/pinning/dist "$tmp/dist" && mkdir "$tmp/unpacked" &&
        tar -C "$tmp/unpacked" -xf "$tmp"/dist/*.tar.xz &&
        "$tmp"/unpacked/*/scripts/pinning/dist "$tmp/dist2" &&
        cmp "$tmp"/dist/*.xz "$tmp"/dist2/*.xz &&
        (cd "$tmp/dist2" && sha256sum -c ./*.sha256)
}

release_names_version() {
    grep -E "^## $(cat VERSION) - 20[0-9]{2}-[01][0-9]-[0-3][0-9]\$" \
        CHANGELOG.md
}

registry_folder() {
    mkdir -p "$tmp/root/etc" "$tmp/root/run" "$tmp/root/usr/lib/tmpfiles.d"
    echo 'root:x:0:0::/:/bin/sh' >"$tmp/root/etc/passwd"
    printf 'root:x:0:\nkvm:x:107:\n' >"$tmp/root/etc/group"
    cp contrib/tmpfiles.d/qemu-pinning.conf "$tmp/root/usr/lib/tmpfiles.d/"
    systemd-tmpfiles --root="$tmp/root" --create qemu-pinning.conf &&
        (cd "$tmp/root/run" &&
            stat -c '%a %u:%g %n' qemu-pinning qemu-pinning/lock) \
            >"$tmp/modes" && printf '%s\n' '1770 0:107 qemu-pinning' \
            '660 0:107 qemu-pinning/lock' | diff - "$tmp/modes"
}

apparmor() {
    printf '%s\n' '#include <tunables/global>' 'profile test {' \
        "#include \"$top/contrib/apparmor/qemu-pinning\"" '}' |
        apparmor_parser -Q -K --quiet
}

# $1: words of the line, the last one to be completed; $2: a completion
completes() {
    PATH=$build/bin:$PATH bash -c '. contrib/bash-completion/qemu-pinning
        COMP_WORDS=($1 ""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        case $1 in *=) COMP_WORDS=(${1%=}); COMP_CWORD=$((COMP_CWORD - 1)) ;;
        esac
        _qemu_pinning; printf "%s\n" "${COMPREPLY[@]}"' - "$1" >"$tmp/words"
    grep -qxe "$2" "$tmp/words" || { cat "$tmp/words"; false; }
}

completion() {
    completes 'qemu-pinning' map && completes 'qemu-pinning' run &&
        completes 'qemu-pinning plan --ex=' --exclusive &&
        completes 'qemu-pinning plan --smt' isolate &&
        completes 'qemu-pinning map --memory-policy' interleave &&
        completes 'qemu-pinning plan --vnuma' off
}

verified() {
    scripts/pinning/verify-build "$build/bin/qemu-system-x86_64"
}

stock_is_refused() {
    scripts/pinning/verify-build "$build/stock/bin/qemu-system-x86_64" \
        >"$tmp/stock" && return 1
    [ "$(grep -c '^not ok' "$tmp/stock")" = 5 ] || { cat "$tmp/stock"; false; }
}

# $1: a command that must be there, then as ok
ok_with() {
    if PATH=$PATH:/usr/sbin command -v "$1" >/dev/null; then
        shift
        ok "$@"
    else
        n=$((n + 1))
        echo "ok $n - $suite: $2 # SKIP $1 is not installed"
    fi
}

if [ -f "$build/source/LOCK" ]; then
    ok "the exported series gives the tree of ./configure" exported_series
    ok_with quilt "quilt applies it and takes it back" quilt_takes_it_back
    ok "exporting twice gives the same bytes" same_export
else
    n=1
    echo "ok 1 - packaging: export # SKIP built from --qemu-source"
fi
ok "a release makes the same release again" release_of_release
ok "CHANGELOG.md has a date for VERSION" release_names_version
ok_with systemd-tmpfiles "modes of the registry's folder" registry_folder
ok_with apparmor_parser "AppArmor rules are understood" apparmor
ok "bash completes commands, options, values" completion
ok "our program passes verify-build" verified
if [ -x "$build/stock/bin/qemu-system-x86_64" ]; then
    ok "stock QEMU fails all of verify-build" stock_is_refused
else
    n=$((n + 1))
    echo "ok $n - packaging: stock # SKIP not built, see make stock"
fi
echo "1..$n"
exit $failed
