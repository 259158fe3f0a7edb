#ifndef CFAILUREARTIFACTS_TRACE_H
#define CFAILUREARTIFACTS_TRACE_H

#include "discovery.h"

typedef int failure_artifacts_trace(unsigned event, void *connection, void *statement, void *argument);

// Has a connection's statements and its close told of, at its open; see sqlite3_trace_v2().
void failure_artifacts_trace_set(
    failure_artifacts_connection *connection, unsigned events, failure_artifacts_trace *trace);

#endif
