#include "discovery.h"

static _Thread_local int pauses;

void failure_artifacts_discovery_pause(void) { pauses += 1; }
void failure_artifacts_discovery_resume(void) { pauses -= 1; }
bool failure_artifacts_discovery_is_paused(void) { return pauses > 0; }
