#ifndef CFAILUREARTIFACTS_DISCOVERY_H
#define CFAILUREARTIFACTS_DISCOVERY_H

#include <stdbool.h>

// Connections that this thread opens between the two calls are not reported to discovery: our own.
void failure_artifacts_discovery_pause(void);
void failure_artifacts_discovery_resume(void);
bool failure_artifacts_discovery_is_paused(void);

#endif
