# SPDX-License-Identifier: GPL-2.0-or-later
#
# TAP for the shell tests beside this file, which read it with "."

# tap_begin SUITE: at the top of the checkout, with a scratch folder $tmp
tap_begin() {
    suite=$1
    top=$(cd "$(dirname "$0")/../.." && pwd)
    cd "$top" || exit 1
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    n=0
    failed=0
}

# ok NAME COMMAND...: what COMMAND printed is shown if it fails
ok() {
    name=$1
    shift
    n=$((n + 1))
    if "$@" >"$tmp/out" 2>&1; then
        echo "ok $n - $suite: $name"
    else
        echo "not ok $n - $suite: $name"
        sed 's/^/# /' "$tmp/out"
        failed=1
    fi
}
