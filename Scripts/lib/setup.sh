# shellcheck shell=bash
# Sourced by the scripts: the checkout's path, headings, and functions that install missing packages.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/.build
# The scripts build this package and all nested ones in one directory, so that shared modules are compiled once. Tests do it
# strictly, see Package.swift; in the same directory, that would compile everything again. Without the last option, SwiftPM
# would take the plan of another package that was built there, and not notice new files.
if [ -n "${FAILURE_ARTIFACTS_STRICT:-}" ]; then directory=$build/nested; else directory=$build/nested-plain; fi
# shellcheck disable=SC2034 # Used by the scripts that source this file.
nested=(--scratch-path "$directory" --disable-build-manifest-caching)

# products OPTION…: prints the directory of what \`swift build OPTION…\` makes, which depends on the build system.
products() {
    swift build "$@" --show-bin-path
}

heading() {
    if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
        printf '\n\033[1m== %s\033[0m\n' "$*"
    else
        printf '\n== %s\n' "$*"
    fi
}

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# quietly LOG COMMAND…: runs a noisy command, and shows its output only if it fails. Returns the command's status.
quietly() {
    local log=$1 status=0
    shift
    mkdir -p "$(dirname "$log")"
    # `if COMMAND; then …; fi` would set `$?` to 0, whatever the command returned.
    "$@" >"$log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then return 0; fi
    cat "$log"
    printf 'This failed with status %d: %s\n' "$status" "$*" >&2
    return "$status"
}

missing=()
knows_packages=no

# need_command COMMAND PACKAGE
need_command() {
    command -v "$1" >/dev/null || missing+=("$2")
}

# need_header HEADER PACKAGE: macOS has the headers in its SDK.
need_header() {
    [ "$(uname)" = Darwin ] || [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ] || missing+=("$2")
}

# Installs the packages that the functions above found missing, or prints how to install them.
install_missing() {
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || fail "Please install what is missing, and run this again: ${missing[*]}."
    local install=(apt-get install -y --no-install-recommends "${missing[@]}")
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
            as_root=(sudo)
        else
            fail "Packages are missing. Please run this as root, and then this script again:
    apt-get update && ${install[*]}"
        fi
    fi
    printf 'Installing %s.\n' "${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    if [ "$knows_packages" = no ]; then
        quietly "$build/logs/apt-update.log" ${as_root[@]+"${as_root[@]}"} apt-get update
        knows_packages=yes
    fi
    quietly "$build/logs/apt-install.log" ${as_root[@]+"${as_root[@]}"} "${install[@]}"
    missing=()
}

# Installs the programs that the product and looking into its bundles need.
set_up() {
    command -v swift >/dev/null || fail "There is no Swift toolchain in PATH: see https://www.swift.org/install."
    need_command git git
    need_header sqlite3.h libsqlite3-dev
    need_header zlib.h zlib1g-dev
    need_command sqlite3 sqlite3
    need_command unzip unzip
    [ "$(uname)" = Darwin ] || need_command pkg-config pkg-config
    install_missing
}

# Installs the programs of the unit tests and of the core integration tests; sets `python`, which can import
# jsonschema and yaml.
set_up_core_tests() {
    set_up
    need_command python3 python3
    need_command bsdtar libarchive-tools
    need_command zip zip
    need_command sqldiff sqlite3-tools
    install_missing
    python=python3
    if ! has_python_packages; then
        set_up_venv
        python=$build/venv/bin/python3
        has_python_packages || quietly "$build/logs/pip.log" \
            "$python" -m pip install --disable-pip-version-check 'jsonschema>=4.18,<5' 'PyYAML>=6,<7'
    fi
    # It formats the page's scripts. Other versions format some lines in another way.
    if [ ! -x "$build/venv/bin/clang-format" ]; then
        set_up_venv
        quietly "$build/logs/clang-format.log" "$build/venv/bin/python3" -m pip install --disable-pip-version-check \
            'clang-format==23.1.5'
    fi
}

# Installs everything that the tests need, and sets `python` as above.
set_up_tests() {
    set_up_core_tests
    # The tests make a second copy of SQLite, with different symbols, from the system's static library.
    if [ "$(uname)" = Linux ]; then
        need_command objcopy binutils
        need_command cc gcc
    fi
    # The recipes for CI services use it to read the results, and GitHub's action to download a release.
    need_command jq jq
    need_command curl curl
    # A release is packed with it.
    need_command zip zip
    need_command strip binutils
    # The tool completes arguments in these shells.
    need_command zsh zsh
    need_command fish fish
    # The benchmarks compare with it.
    need_command pigz pigz
    # The tests run C code for arm64.
    if emulates_arm64; then need_command qemu-aarch64 qemu-user; fi
    # The report is tested in a browser. This way of installing one doesn't exist on macOS.
    if [ "$(uname)" = Linux ] && ! has_browser; then missing+=(chromium); fi
    install_missing
    # Only the script axe-core in this package is used.
    if [ ! -e "$build/axe/axe_playwright_python/axe.min.js" ]; then
        set_up_venv
        quietly "$build/logs/axe.log" "$build/venv/bin/python3" -m pip install --disable-pip-version-check \
            --no-deps --target "$build/axe" 'axe-playwright-python==0.1.8'
    fi
    if [ ! -x "$build/venv/bin/zizmor" ]; then
        set_up_venv
        quietly "$build/logs/workflows.log" "$build/venv/bin/python3" -m pip install --disable-pip-version-check \
            'check-jsonschema==0.39.0' 'zizmor==1.32.0'
    fi
    set_up_fleet
    if emulates_arm64; then set_up_arm64; fi
}

# True if this machine can run programs for arm64 in emulators. The package sources of other distributions than Debian
# don't have arm64's packages.
emulates_arm64() {
    [ "$(uname -sm)" = 'Linux x86_64' ] && grep -qx ID=debian /etc/os-release
}

# Downloads libraries for arm64, for Tests/Arm64/check. They are unpacked in .build, so they can't conflict with this
# system's packages.
set_up_arm64() {
    local directory=$build/arm64 compiler package
    local packages=(libc6 libc6-dev linux-libc-dev libgcc-s1 libsqlite3-0 libsqlite3-dev)
    local wanted="${packages[*]}"
    # A changed list needs another directory.
    if [ "$(cat "$directory/packages" 2>/dev/null)" = "$wanted" ]; then return 0; fi
    rm -rf "$directory"
    mkdir -p "$directory/apt/lists/partial" "$directory/apt/cache/archives/partial"
    : >"$directory/apt/status"
    printf '%s;\n' 'APT::Architecture "arm64"' 'APT::Architectures { "arm64" }' 'Acquire::Languages "none"' \
        "Dir::State \"$directory/apt\"" "Dir::State::status \"$directory/apt/status\"" \
        "Dir::Cache \"$directory/apt/cache\"" >"$directory/apt/config"
    local -x APT_CONFIG=$directory/apt/config
    quietly "$build/logs/arm64-update.log" apt-get update
    # This package's name has a version.
    compiler=$(apt-cache search --names-only '^libgcc-[0-9]+-dev$' | sed 's/ .*//' | sort -V | tail -n 1)
    [ -n "$compiler" ] || fail "The package sources have no compiler for arm64."
    packages+=("$compiler")
    (cd "$directory" && quietly "$build/logs/arm64-download.log" apt-get download "${packages[@]}")
    for package in "$directory"/*.deb; do dpkg-deb -x "$package" "$directory/root"; done
    rm -rf "$directory"/*.deb "$directory/apt"
    # Since Debian 13, packages leave these links to another one.
    [ -e "$directory/root/lib" ] || ln -s usr/lib usr/bin "$directory/root"
    printf '%s\n' "$wanted" >"$directory/packages"
}

# Installs the programs that test the recipe for an object store: DuckDB, aws and a local S3 server.
set_up_fleet() {
    local packages=(duckdb==1.5.5 duckdb-extension-httpfs==1.5.5 'moto[s3]==5.2.5' flask==3.1.3 flask-cors==6.0.5
        awscli==1.46.3)
    # A changed list needs a new environment.
    if [ "$(cat "$build/fleet/packages" 2>/dev/null)" != "${packages[*]}" ]; then
        make_venv fleet
        quietly "$build/logs/fleet.log" "$build/fleet/bin/python3" -m pip install --disable-pip-version-check \
            --no-compile "${packages[@]}"
        printf '%s\n' "${packages[*]}" >"$build/fleet/packages"
    fi
}

has_browser() {
    command -v chromium || command -v google-chrome || command -v chromium-browser
} >/dev/null

set_up_venv() {
    [ -x "$build/venv/bin/python3" ] || make_venv venv
}

# make_venv NAME: creates an empty Python environment in .build.
make_venv() {
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
    install_missing
    quietly "$build/logs/$1-venv.log" python3 -m venv --clear "$build/$1"
}

# Installs the drawing library; sets `python`, which can import matplotlib.
set_up_plots() {
    python=$build/plots/bin/python3
    "$python" -c 'import matplotlib' 2>/dev/null && return 0
    make_venv plots
    quietly "$build/logs/plots.log" "$python" -m pip install --disable-pip-version-check 'matplotlib>=3.9,<4'
}

# Installs the tools that the benchmarks compare with.
set_up_benchmark() {
    set_up
    need_command python3 python3
    need_command zip zip
    need_command pigz pigz
    # On macOS, sqlite3 includes it.
    need_command sqldiff sqlite3-tools
    install_missing
}

has_python_packages() {
    "$python" -c 'import yaml; from jsonschema import Draft202012Validator' 2>/dev/null
}
