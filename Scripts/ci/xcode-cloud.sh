#!/bin/sh
# Makes the bundles of crashed tests, prints the failures, and uploads the bundles, after Xcode Cloud has run the tests.
set -e
directory=$TEST_RUNNER_FAILURE_ARTIFACTS_DIR
if [ ! -d "$directory" ]; then exit 0; fi
cd "$CI_PRIMARY_REPOSITORY_PATH"
swift build --product failure-artifacts
tool=$(swift build --show-bin-path)/failure-artifacts
"$tool" sweep "$directory"
"$tool" summary "$directory"
"$tool" report "$directory" -o "$directory/report.html"
cd "$directory"
zip -qr0 - . | curl --fail --silent --show-error --upload-file - "$ARTIFACTS_URL/$CI_BUILD_ID.zip"
