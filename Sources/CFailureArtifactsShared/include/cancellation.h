#ifndef CFAILUREARTIFACTS_CANCELLATION_H
#define CFAILUREARTIFACTS_CANCELLATION_H

#include <pthread.h>

// Between the two calls, this thread can't be cancelled. A cancelled thread of the application ends at the next call of
// the system that is a cancellation point, such as open(). SQLite makes no such call for a store in memory. If we made
// one inside SQLite, the thread would end with the mutex of its connection, or with one of ours.
static inline int failure_artifacts_cancellation_disable(void) {
    int state = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

static inline void failure_artifacts_cancellation_restore(int state) { pthread_setcancelstate(state, NULL); }

#endif
