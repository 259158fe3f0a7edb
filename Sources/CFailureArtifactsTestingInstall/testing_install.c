#include "testing_install.h"

// In FailureArtifactsTesting. Only a C object gets a constructor that runs although nobody imports its module.
void failure_artifacts_testing_install(void);

__attribute__((constructor)) static void at_process_start(void) { failure_artifacts_testing_install(); }
