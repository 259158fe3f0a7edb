// All thread-specific keys are taken before the first statement, so the collector gets none. Key 0 is the application's.
// sanitizers: address
#include "collector.h"

static int value;

int main(void) {
    collector_install(false);
    collector_test_starts();
    pthread_key_t first, next;
    pthread_key_create(&first, NULL);
    while (pthread_key_create(&next, NULL) == 0) {
    }
    pthread_setspecific(first, &value);
    sqlite3 *handle;
    sqlite3_open(":memory:", &handle);
    sqlite3_exec(handle, "SELECT 1", NULL, NULL, NULL);
    puts(pthread_getspecific(first) == &value ? "The value is unchanged." : "The value was replaced.");
    sqlite3_close(handle);
}
