#pragma once

#include "discovery.h"

// Collects the statements on a connection that ends, for the tests that used it. The caller holds the connection.
void failure_artifacts_baseline_note_end(failure_artifacts_connection *connection);
