# shellcheck shell=bash
# Sourced by Scripts/test after setup.sh: steps that are counted, and excerpts of the logs of test runs.

# Where the steps leave their logs.
logs=$build/logs
# The parts of names by which steps are selected; none for all steps.
selected=()
# One line for each step that was run: "passed NAME" or "failed NAME". A file, because some steps run in a subshell.
results=$(mktemp)

# The steps that run in the background, as a process group of their own; empty if there are none.
background=
trap 'rm -f "$results"; [ -z "$background" ] || kill -- "-$background"' EXIT

is_selected() {
    local part
    [ ${#selected[@]} -gt 0 ] || return 0
    for part in "${selected[@]}"; do
        if [[ $1 == *"$part"* ]]; then return 0; fi
    done
    return 1
}

# step NAME COMMAND…: runs one step if it is selected, and goes on after a failure, so that one run shows all failures.
#
# Must not be called in a condition, such as `if step …` or `step … || …`: Bash then ignores `set -e` in everything
# below, and of several commands only the last one's failure would count. For the same reason the command isn't
# run in one here.
step() {
    local name=$1 start=$SECONDS status
    shift
    if ! is_selected "$name"; then return 0; fi
    heading "$name"
    set +e
    (
        set -e
        "$@"
    )
    status=$?
    set -e
    record "$status" "$name"
    printf '(%d s)\n' $((SECONDS - start))
}

# record STATUS NAME
record() {
    if [ "$1" -eq 0 ]; then printf 'passed %s\n' "$2"; else printf 'failed %s\n' "$2"; fi >>"$results"
}

# beside FUNCTION: runs a function that consists of steps in the background.
beside() {
    # With job control the group has an id of its own, and can be ended as a whole.
    set -m
    "$1" >"$logs/beside.log" 2>&1 </dev/null &
    background=$!
    set +m
}

# Waits for the steps in the background, and shows their output.
join() {
    local status=0
    wait "$background" || status=$?
    background=
    cat "$logs/beside.log"
    if [ "$status" -ne 0 ]; then record "$status" "Steps in the background"; fi
}

names_of() {
    sed -n "s/^$1 //p" "$results"
}

# total: prints how many steps passed and which ones failed. Returns 1 if one failed, or if there were none.
total() {
    local passed failed
    passed=$(names_of passed | wc -l)
    failed=$(names_of failed | wc -l)
    heading "Total: $((passed)) of $((passed + failed)) steps passed, in $SECONDS s"
    names_of failed | sed 's/^/FAILED: /'
    if [ $((passed + failed)) -eq 0 ]; then printf 'No step has such a name: %s\n' "${selected[*]}"; fi
    [ $((failed)) -eq 0 ] && [ $((passed)) -gt 0 ]
}

# MARK: Logs of test runs

# Matches what XCTest and Swift Testing print of a failure, and the messages of a crash. The start of the line counts:
# the arguments of a test case that passes may contain any of these words.
failure_lines='^✘ .* recorded an issue'
failure_lines+='|^✘ Test run with'
failure_lines+='|^(/[^:]+|<EXPR>):[0-9]+: error: '
failure_lines+='|^([^ :]+\.swift:[0-9]+: )?(Fatal error|Precondition failed|Assertion failed)(:|$)'
failure_lines+='|^(\*\*\* |💣 |error: )'

# test_failures LOG: prints the failures; if there are none, as in a run that hung, the last lines.
test_failures() {
    grep -aE "$failure_lines" "$1" || tail -n 20 "$1"
}

# skipped_tests LOG: prints the tests, and the cases of tests, that were skipped or cancelled, with the reason.
skipped_tests() {
    grep -aE "^➜ (Test|Suite) |^⚠.*NeededPrograms\.swift|^↳ needs the program |: Test skipped: " "$1" || true
}

# test_totals LOG: prints how many tests were run by each framework. Returns 1 if there were none.
test_totals() {
    grep -aE 'Executed [1-9][0-9]* tests?,|Test run with [1-9][0-9]* tests? ' "$1" | sort -u
}
