#include "testing_install.h"

// Defined in the Swift module FailureArtifactsTesting.
extern void failure_artifacts_testing_install(void);

// Runs before main(). Only C has constructors that run in a module that no code imports.
__attribute__((constructor)) static void process_starts(void) { failure_artifacts_testing_install(); }
