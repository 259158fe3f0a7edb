#pragma once

// Between the two calls, this thread can't be cancelled. A cancelled thread of the application ends at the next call of
// the system that is a cancellation point, such as open(). SQLite makes no such call for a store in memory. If we made
// one inside SQLite, the thread would end with the mutex of its connection, or with one of ours.
//
// The functions aren't inline: if this header included pthread.h, Swift would take its types for those of this module.
int failure_artifacts_cancellation_disable(void);
void failure_artifacts_cancellation_restore(int state);
