#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# deb-test.sh BUILD: the packages in BUILD/deb work in a clean Debian of this
# machine's release, and leave nothing behind.  Needs root.  TAP.
set -u

. "$(dirname "$0")/tap.sh"
build=$(cd "$1" && pwd)
tap_begin deb
base=$build/chroot
root=$tmp/root

# A Debian of its own, made once; how to reach the archive is this machine's
make_base() {
    [ ! -d "$base" ] || return 0
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    site=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
               'Created-By: Packages' |
           sed -n "s|^\([^ ]*/debian/\{0,1\}\) $codename\$|\1|p" | head -n 1)
    rm -rf "$base.tmp"
    debootstrap "$codename" "$base.tmp" "$site" >"$build/debootstrap.log" ||
        return 1
    mv "$base.tmp" "$base"
}

make_root() {
    make_base && cp -a "$base" "$root" && rm -f "$root/etc/apt/sources.list" &&
        cp -a /etc/apt/sources.list* /etc/apt/apt.conf.d "$root/etc/apt/" &&
        cp /etc/resolv.conf /etc/hosts "$root/etc/" &&
        mkdir "$root/deb" "$root/check" && cp "$build"/deb/*.deb "$root/deb/" &&
        mkdir -p "$root/check/scripts/pinning" "$root/check/qapi" &&
        cp scripts/pinning/verify-build scripts/pinning/qmp.py \
            "$root/check/scripts/pinning/" &&
        cp qapi/pinning.json "$root/check/qapi/" &&
        cp tests/pinning/boot-sector.py "$root/check/" &&
        inside 'apt-get -qq update'
}

# Mounts and processes are gone when the command is
inside() {
    unshare --mount --pid --fork --kill-child --propagation private \
        sh -c 'mount -t proc proc "$1/proc" &&
               mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
               exec chroot "$1" env -i HOME=/root LC_ALL=C TERM=dumb \
                   DEBIAN_FRONTEND=noninteractive \
                   PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -e -c "$2"' \
        - "$root" "$1"
}

# Everything there is, but for what apt itself keeps
list_files() {
    inside 'find / -xdev \( -path /proc -o -path /sys -o -path /dev \
        -o -path /tmp -o -path /check -o -path /deb -o -path /var/lib/apt \
        -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \) \
        -prune -o -print' | sort
}

# What is merely recommended keeps nothing installed
apt='apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends'
apt="$apt -o APT::AutoRemove::RecommendsImportant=false"
apt="$apt -o APT::AutoRemove::SuggestsImportant=false"

installs() {
    list_files >"$tmp/before" && cp "$root/etc/group" "$tmp/group" &&
        inside "$apt install /deb/qemu-system-x86-pinning_*.deb \
                    /deb/qemu-pinning-tools_*.deb"
}

starts_small() {    # without display and sound libraries
    inside '! dpkg -l libgtk-3-0 2>/dev/null | grep ^ii'
}

registry_folder() {
    inside 'stat -c "%a %U:%G %n" /run/qemu-pinning /run/qemu-pinning/lock' \
        >"$tmp/modes"
    printf '%s\n' '1770 root:kvm /run/qemu-pinning' \
        '660 root:kvm /run/qemu-pinning/lock' | diff - "$tmp/modes"
}

boots() {
    inside 'python3 /check/boot-sector.py qemu-system-x86_64-pinning'
}

draws() {
    inside 'qemu-pinning map --mode one-to-one --smp 1' >"$tmp/map" &&
        grep -i 'node' "$tmp/map" && grep 'v0' "$tmp/map"
}

captures() {
    inside 'cd /tmp && qemu-pinning-capture-topology -o host &&
            qemu-pinning topology --root host >a && qemu-pinning topology >b &&
            test -s a && cmp a b; rm -f host a b'
}

has_manuals() {
    inside 'cd /usr/share/man/man1 &&
        zcat qemu-pinning.1.gz | grep -q "hostnodes" &&
        zcat qemu-system-x86_64-pinning.1.gz | grep -q "accel" &&
        zcat qemu-pinning-capture-topology.1.gz | grep -q "root"'
}

verified() {
    inside 'python3 /check/scripts/pinning/verify-build \
                /usr/bin/qemu-system-x86_64-pinning'
}

modules_load() {
    inside 'qemu-system-x86_64-pinning -display help' >"$tmp/few" &&
        inside "$apt install /deb/qemu-system-modules-pinning_*.deb" &&
        inside 'qemu-system-x86_64-pinning -display help' >"$tmp/more" &&
        ! grep -qx gtk "$tmp/few" && grep -x gtk "$tmp/more" &&
        grep -x spice-app "$tmp/more"
}

# The distribution's own program beside ours, neither in the other's way
beside() {
    inside "$apt install qemu-system-x86" &&
        inside 'qemu-system-x86_64 --version
                python3 /check/boot-sector.py qemu-system-x86_64-pinning
                dpkg -s qemu-system-x86-pinning | grep "^Status.* installed"' &&
        inside "$apt --auto-remove purge qemu-system-x86"
}

apparmor() {
    inside "$apt install apparmor" && inside 'printf "%s\n" \
        "#include <tunables/global>" "profile test {" \
        "#include <abstractions/libvirt-qemu.d/qemu-pinning>" "}" |
        apparmor_parser -Q -K --quiet' &&
        inside "$apt --auto-remove purge apparmor"
}

purges() {
    inside "$apt --auto-remove purge qemu-system-x86-pinning \
                qemu-system-modules-pinning qemu-pinning-tools" || return 1
    list_files >"$tmp/after"
    # Groups are for all packages and stay; the rest is of Debian's dbus,
    # which the libraries for displays need
    sed -i -e '/^\/var\/lib\/dbus\/machine-id$/d' -e '/^\/run\/dbus/d' \
        "$tmp/before" "$tmp/after"
    diff "$tmp/before" "$tmp/after" && ! inside 'dpkg -l "*pinning*"'
}

if [ "$(id -u)" != 0 ]; then
    echo "1..0 # SKIP not root"
    exit 0
fi
ok "a clean Debian" make_root
ok "packages are installed" installs
ok "without libraries for displays" starts_small
ok "the registry's folder" registry_folder
ok "a machine boots, placed" boots
ok "qemu-pinning draws" draws
ok "a host is captured" captures
ok "manual pages" has_manuals
ok "verify-build" verified
ok "modules are loaded" modules_load
ok "beside the distribution's QEMU" beside
ok "AppArmor understands the rules" apparmor
ok "purging leaves nothing" purges
echo "1..$n"
exit $failed
