// Defined in the Swift module FailureArtifacts.
extern void failure_artifacts_install(void);

// Runs before main(). On Linux a library has no other way to be called in a test process: XCTest has no principal
// class there. The same program also runs to list its tests, so this must neither print nor write files.
__attribute__((constructor)) static void process_starts(void) { failure_artifacts_install(); }
