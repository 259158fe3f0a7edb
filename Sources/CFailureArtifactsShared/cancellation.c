#include "cancellation.h"

#include <pthread.h>

int failure_artifacts_cancellation_disable(void) {
    int state = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

void failure_artifacts_cancellation_restore(int state) { pthread_setcancelstate(state, NULL); }
