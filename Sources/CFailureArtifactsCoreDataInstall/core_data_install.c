#include "core_data_install.h"

#ifdef __APPLE__
// Defined in the Swift module FailureArtifactsCoreData.
extern void failure_artifacts_core_data_install(void);

// Runs before main(), and so before the first container loads its stores.
__attribute__((constructor)) static void process_starts(void) { failure_artifacts_core_data_install(); }
#endif
