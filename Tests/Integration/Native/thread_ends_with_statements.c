// A thread's connections are in thread-specific data, whose destructor runs statements and closes them. The collector
// uses the connections before the application has its key, and after: its own key, if it has one, comes first.
// sanitizers: address thread
#include "collector.h"

typedef struct pair {
    sqlite3 *first, *second;
} pair;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(int) rounds;

static void thread_ends(void *value) {
    pair *pair = value;
    // The destructors run again as long as one of them sets a value.
    if (atomic_fetch_add(&rounds, 1) % 3 < 2) pthread_setspecific(key, pair);
    sqlite3_exec(pair->second, "INSERT INTO t VALUES(1)", NULL, NULL, NULL);
    sqlite3_exec(pair->first, "INSERT INTO t VALUES(1)", NULL, NULL, NULL);
    sqlite3_exec(pair->second, "SELECT count(*) FROM t; SELEC", NULL, NULL, NULL);
    if (pthread_getspecific(key)) return;
    sqlite3_close(pair->first);
    sqlite3_close(pair->second);
    free(pair);
}

static void create_key(void) { pthread_key_create(&key, thread_ends); }

static void *work(void *unused) {
    (void)unused;
    pair *pair = calloc(1, sizeof *pair);
    sqlite3_open(":memory:", &pair->first);
    sqlite3_open(":memory:", &pair->second);
    sqlite3_exec(pair->first, "CREATE TABLE t(x)", NULL, NULL, NULL);
    pthread_once(&once, create_key);
    sqlite3_exec(pair->second, "CREATE TABLE t(x)", NULL, NULL, NULL);
    pthread_setspecific(key, pair);
    return NULL;
}

int main(void) {
    collector_install(true);
    collector_test_starts();
    for (int count = 0; count < 20; count++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
        collector_captures();
    }
    printf("%d rounds of destructors\n", atomic_load(&rounds));
}
