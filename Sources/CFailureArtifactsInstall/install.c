#include "install.h"

extern void failure_artifacts_install(void);

// Runs before main(): Linux has neither principal classes nor another way for a library to be told of a test
// run. The same program is also started to list its tests, so that nothing may be printed or written here.
__attribute__((constructor)) static void process_starts(void) { failure_artifacts_install(); }
