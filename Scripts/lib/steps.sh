# shellcheck shell=bash
# Sourced by Scripts/test and Scripts/verify-on-mac after setup.sh: steps with their results, and excerpts of test logs.

# The directory for the logs of steps.
logs=$build/logs
# The parts of names that select steps; empty for all steps.
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

# step NAME COMMAND…: runs a step if it is selected. The script continues after a failure, so that one run shows all
# failures.
#
# Don't call it in a condition, such as `if step …` or `step … || …`: Bash would ignore `set -e` in everything that it
# runs, so only the last command's failure would count. For the same reason it doesn't run the command in a condition.
step() {
    local name=$1 start=$SECONDS status before after
    shift
    if ! is_selected "$name"; then return 0; fi
    heading "$name"
    processor_time before
    set +e
    (
        set -e
        "$@"
    )
    status=$?
    set -e
    record "$status" "$name"
    processor_time after
    printf '(%d s, %d s of processor time)\n' $((SECONDS - start)) $((after - before))
}

# processor_time VARIABLE: assigns the seconds of processor time that the ended programs of this shell have taken.
processor_time() {
    local file
    file=$(mktemp)
    times >"$file"
    # The second line is about the programs, such as "1m2.345s 0m0.678s".
    printf -v "$1" %d "$(tr ms '  ' <"$file" | awk 'NR == 2 { print int($1 * 60 + $2 + $3 * 60 + $4) }')"
    rm "$file"
}

# record STATUS NAME
record() {
    if [ "$1" -eq 0 ]; then printf 'passed %s\n' "$2"; else printf 'failed %s\n' "$2"; fi >>"$results"
}

# beside FUNCTION: runs a function that consists of steps, in the background.
beside() {
    # With job control, the process group has its own ID and can be ended as a whole.
    set -m
    "$1" >"$logs/beside.log" 2>&1 </dev/null &
    background=$!
    set +m
}

# Waits for the steps in the background, and prints their output.
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

# total: prints the number of passed steps and the names of failed ones. Returns 1 if a step failed or none
# ran.
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

# Matches the failure messages of XCTest and Swift Testing, and crash messages. They are anchored at the start
# of the line, because the arguments of a passing test case may contain any of these words.
failure_lines='^✘ .* recorded an issue'
failure_lines+='|^✘ Test run with'
failure_lines+='|^(/[^:]+|<EXPR>):[0-9]+: error: '
failure_lines+='|^([^ :]+\.swift:[0-9]+: )?(Fatal error|Precondition failed|Assertion failed)(:|$)'
failure_lines+='|^(\*\*\* |💣 |error: )'

# test_failures LOG: prints the failures. If there are none, as in a run that hung, prints the last lines.
test_failures() {
    grep -aE "$failure_lines" "$1" || tail -n 20 "$1"
}

# skipped_tests LOG: prints the tests and test cases that were skipped or canceled, with the reason.
skipped_tests() {
    grep -aE "^➜ (Test|Suite) |^⚠.*NeededPrograms\.swift|^↳ needs the program |: Test skipped: " "$1" || true
}

# test_totals LOG: prints the number of tests that each framework ran. Returns 1 if there were none.
test_totals() {
    grep -aE 'Executed [1-9][0-9]* tests?,|Test run with [1-9][0-9]* tests? ' "$1" | sort -u
}
