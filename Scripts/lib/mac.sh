# shellcheck shell=bash
# Sourced by Scripts/verify-on-mac after steps.sh: the comparisons of what a Mac does with what is expected.

# differences NAME EXPECTED FOUND: prints the lines that differ. Returns 1 if there are any.
differences() {
    local expected found
    expected=$(mktemp)
    found=$(mktemp)
    # An empty text has no lines.
    printf '%s' "${2:+$2$'\n'}" >"$expected"
    printf '%s' "${3:+$3$'\n'}" >"$found"
    local status=0
    diff "$expected" "$found" >"$logs/differences.txt" || status=$?
    rm "$expected" "$found"
    if [ $status -eq 0 ]; then return 0; fi
    printf '%s, expected (<) and found (>):\n' "$1"
    grep '^[<>]' "$logs/differences.txt"
    return 1
}

# linked_libraries: reads the output of `otool -L`, and prints the paths of SQLite and zlib.
linked_libraries() {
    awk '$1 ~ /libsqlite3|libz\./ { print $1 }' | sort -u
}

# attachment_names: reads the manifest of `xcresulttool export attachments`, and prints the names without the numbers
# that the tool adds: ledger.sqlite for ledger_0_8A6E….sqlite.
attachment_names() {
    sed -n 's/.*"suggestedHumanReadableName" *: *"\([^"]*\)".*/\1/p' |
        sed 's/_[0-9]*_[0-9A-Fa-f-]\{36\}\(\.[^.]*\)\{0,1\}$/\1/' | sort -u
}

# sdk_warnings LOG: prints the compiler's warnings about the package's own sources, without repetitions.
sdk_warnings() {
    { grep -E '^[^ ].*/Sources/FailureArtifacts[^ ]*: (warning|error): ' "$1" || true; } | sed "s|^$root/||" | sort -u
}
