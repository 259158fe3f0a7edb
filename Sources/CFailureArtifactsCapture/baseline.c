#include "baseline.h"
#include "cancellation.h"
#include "connections.h"
#include "log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The statements of a test are collected twice: of a connection when it ends, and of the open ones when the test has
// ended. They are copied from the log in the log's own form, as LogChunk reads it. What differs in each run is left out
// or replaced: times, threads, and numbers that go on from test to test. So equal runs give equal bytes, which compress
// well, and which need not be written again.

enum {
    // The number of a text's first executions in a test that keep their values and their place.
    allowance_of_text = 100,
    // The maximum size of the statements of one connection, of a test, and of all running tests, in bytes. A test with
    // more has no baseline.
    maximum_part = 1 << 20,
    maximum_test = 2 << 20,
    maximum_tests = 64 << 20,
    // The running tests, in lists by a part of their numbers.
    lists = 256,
    // The maximum number of running tests that have used a connection when it ends. Further ones have no baseline.
    maximum_users = 64,
    // The records that follow a statement may come after the start of others.
    following_statements = 8,
    // The maximum number of stacks of a process, and the lists that find them by their hashes.
    maximum_stacks = 1 << 16,
    stack_lists = 1 << 10,
    // The stacks of a part that are found again, by a part of their numbers.
    known_stacks = 256,
    // The sizes of the first memory of a part, in bytes, and of its first index of texts.
    first_space = 4 << 10,
    first_places = 256,
    // The attempts to read an open connection at the end of a test, and the microseconds between them.
    most_attempts = 20,
    attempt_pause = 200,
};

typedef failure_artifacts_statement_record statement_record;

static atomic_bool is_on;

void failure_artifacts_baseline_turn(bool on) { atomic_store(&is_on, on); }

// MARK: - Stacks

typedef struct stack {
    struct stack *next;
    uint32_t number;
    uint32_t count;
    uint64_t addresses[];
} stack;

static stack *stacks_by_hash[stack_lists];
static stack *stacks_by_number[maximum_stacks];
static uint32_t stack_count;
static pthread_mutex_t stacks_lock = PTHREAD_MUTEX_INITIALIZER;

// Returns the number of a stack in the process, from 1; 0 if there are too many.
static uint32_t stack_number(const record *record) {
    size_t length = record->length - sizeof *record;
    stack **place = &stacks_by_hash[failure_artifacts_log_hash(record + 1, length) / 2 % stack_lists];
    pthread_mutex_lock(&stacks_lock);
    stack *known = *place;
    while (known && (known->count * 8 != length || memcmp(known->addresses, record + 1, length) != 0)) {
        known = known->next;
    }
    if (!known && stack_count < maximum_stacks && (known = malloc(sizeof *known + length))) {
        *known = (stack){*place, stack_count + 1, (uint32_t)(length / 8)};
        memcpy(known->addresses, record + 1, length);
        stacks_by_number[stack_count++] = *place = known;
    }
    pthread_mutex_unlock(&stacks_lock);
    return known ? known->number : 0;
}

const uint64_t *failure_artifacts_baseline_stack(uint32_t number, uint32_t *count) {
    pthread_mutex_lock(&stacks_lock);
    const stack *known = number > 0 && number <= stack_count ? stacks_by_number[number - 1] : NULL;
    pthread_mutex_unlock(&stacks_lock);
    *count = known ? known->count : 0;
    return known ? known->addresses : NULL;
}

// MARK: - The statements of one connection

// The statements that one test ran on one connection: a chunk with its records.
typedef struct part {
    unsigned char *bytes;
    size_t used;
    // The number of its first statement; 0 without one.
    uint64_t first;
} part;

// A text in a part, and the number of its executions so far.
typedef struct known_text {
    uint32_t hash;
    uint32_t offset;
    uint32_t executions;
} known_text;

typedef struct copying {
    uint64_t test;
    const failure_artifacts_connection *connection;
    part part;
    size_t space;
    // True if statements are missing.
    bool is_incomplete;
    // The texts of the part, by their hashes; a power of 2 of places.
    known_text *texts;
    size_t text_places, text_count;
    struct {
        uint32_t number;
        uint32_t offset;
    } stacks[known_stacks];
    // The last statements that were copied; a further record is copied only if its statement is among them.
    struct {
        uint64_t order;
        bool is_observed;
    } last[following_statements];
    unsigned next_last;
    uint32_t first_changes;
} copying;

// Returns the place of a new record; NULL if there is no space for it.
static void *place(copying *copying, size_t length) {
    part *part = &copying->part;
    size_t end = part->used + ((length + 7) & ~(size_t)7);
    if (end > copying->space) {
        size_t space = copying->space ? copying->space * 2 : first_space;
        while (space < end) space *= 2;
        unsigned char *bytes = space <= maximum_part ? realloc(part->bytes, space) : NULL;
        if (!bytes) {
            copying->is_incomplete = true;
            return NULL;
        }
        part->bytes = bytes;
        copying->space = space;
    }
    memset(part->bytes + part->used, 0, end - part->used);
    void *place = part->bytes + part->used;
    part->used = end;
    return place;
}

static void *copy(copying *copying, const record *record) {
    void *target = place(copying, record->length);
    if (target) memcpy(target, record, record->length);
    return target;
}

static uint32_t offset_of(const copying *copying, const void *record) {
    return (uint32_t)((const unsigned char *)record - copying->part.bytes);
}

// Begins the part with the chunk's header and the connection.
static bool begin(copying *copying) {
    if (copying->part.used > 0) return true;
    if (!place(copying, sizeof(chunk))) return false;
    // The path may be a temporary one. Readers want to know only whether there is a file.
    static const char file[] = "file";
    size_t length = sizeof(failure_artifacts_connection_record) + (copying->connection->path ? sizeof file - 1 : 0);
    failure_artifacts_connection_record *added = place(copying, length);
    if (!added) return false;
    added->record = (record){(uint32_t)length, failure_artifacts_record_connection, 0, 0};
    added->maximum = UINT32_MAX >> 1;
    if (copying->connection->path) memcpy(added + 1, file, sizeof file - 1);
    return true;
}

static bool grow_texts(copying *copying) {
    size_t places = copying->text_places ? copying->text_places * 2 : first_places, mask = places - 1;
    known_text *texts = calloc(places, sizeof *texts);
    if (!texts) {
        copying->is_incomplete = true;
        return false;
    }
    for (size_t index = 0; index < copying->text_places; index++) {
        if (!copying->texts[index].hash) continue;
        size_t new = copying->texts[index].hash & mask;
        while (texts[new].hash) new = (new + 1) & mask;
        texts[new] = copying->texts[index];
    }
    free(copying->texts);
    copying->texts = texts;
    copying->text_places = places;
    return true;
}

// Returns the text in the part, which is added if needed; NULL if there is no space for it.
static known_text *text_of(copying *copying, const record *text) {
    if (copying->text_count * 2 >= copying->text_places && !grow_texts(copying)) return NULL;
    uint32_t hash = failure_artifacts_log_hash(text + 1, text->length - sizeof *text);
    size_t index = hash & (copying->text_places - 1);
    for (;; index = (index + 1) & (copying->text_places - 1)) {
        known_text *known = &copying->texts[index];
        if (!known->hash) break;
        const record *other = (const record *)(copying->part.bytes + known->offset);
        if (known->hash == hash && other->length == text->length && memcmp(other, text, text->length) == 0)
            return known;
    }
    const void *added = copy(copying, text);
    if (!added) return NULL;
    copying->texts[index] = (known_text){hash, offset_of(copying, added), 0};
    copying->text_count++;
    return &copying->texts[index];
}

// Returns the offset of a record with the number of a stack in the process; 0 without one.
static uint32_t offset_of_stack(copying *copying, const record *stack) {
    uint32_t number = stack_number(stack), place_of_number = number % known_stacks;
    if (!number) return 0;
    if (copying->stacks[place_of_number].number != number) {
        record *added = place(copying, sizeof *added + sizeof(uint64_t));
        if (!added) return 0;
        *added = (record){sizeof *added + sizeof(uint64_t), failure_artifacts_record_stack, 0, 0};
        *(uint64_t *)(added + 1) = number;
        copying->stacks[place_of_number].number = number;
        copying->stacks[place_of_number].offset = offset_of(copying, added);
    }
    return copying->stacks[place_of_number].offset;
}

static void copy_statement(copying *copying, const unsigned char *chunk, const statement_record *statement) {
    if (!begin(copying)) return;
    known_text *text = text_of(copying, (const record *)(chunk + statement->text));
    if (!text) return;
    bool is_observed = text->executions++ < allowance_of_text;
    uint32_t text_offset = text->offset, stack_offset = 0;
    if (is_observed && statement->stack)
        stack_offset = offset_of_stack(copying, (const record *)(chunk + statement->stack));
    statement_record *added = copy(copying, &statement->record);
    if (!added) return;
    if (!copying->part.first) {
        copying->part.first = statement->order;
        copying->first_changes = statement->changes;
        // It was counted for a statement before the test.
        added->own_changes = 0;
    }
    added->ticks = added->thread = added->test = 0;
    added->changes = statement->changes - copying->first_changes;
    added->text = text_offset;
    added->stack = stack_offset;
    added->pages = (failure_artifacts_pages){failure_artifacts_unknown_count, 0, 0};
    unsigned next = copying->next_last++ % following_statements;
    copying->last[next].order = statement->order;
    copying->last[next].is_observed = is_observed;
}

static void copy_following(copying *copying, const record *record) {
    uint64_t order = order_of(record);
    for (unsigned index = 0; index < following_statements; index++) {
        if (copying->last[index].order != order) continue;
        bool is_needed = copying->last[index].is_observed || record->kind == failure_artifacts_record_error
            || record->kind == failure_artifacts_record_repeated;
        void *added = is_needed ? copy(copying, record) : NULL;
        if (added && record->kind == failure_artifacts_record_end) ((failure_artifacts_end_record *)added)->ticks = 0;
        if (added && record->kind == failure_artifacts_record_error)
            ((failure_artifacts_error_record *)added)->stack = 0;
        return;
    }
}

static void copy_chunk(void *context, const void *bytes, size_t used, const failure_artifacts_log_end *end) {
    (void)end;
    copying *copying = context;
    memset(copying->last, 0, sizeof copying->last);
    for (const record *here = first_record(bytes, used); here && !copying->is_incomplete;
         here = next_record(bytes, used, here)) {
        if (here->kind == failure_artifacts_record_statement) {
            const statement_record *statement = (const statement_record *)here;
            if (statement->test == copying->test) copy_statement(copying, bytes, statement);
        } else if (here->kind >= failure_artifacts_record_error) {
            copy_following(copying, here);
        }
    }
}

// MARK: - Running tests

typedef struct running_test {
    struct running_test *next;
    uint64_t number;
    // The number of the last statement before the test.
    uint64_t start;
    part *parts;
    size_t count;
    // The size of the parts, in bytes.
    size_t size;
    // True if statements are missing. Then there are no parts, and nothing more is collected.
    bool is_incomplete;
    // True if a thread is ending it: the process may exit while a test ends.
    bool is_ending;
} running_test;

static running_test *running_tests[lists];
// The size of the parts of all of them.
static size_t collected;
static pthread_mutex_t tests_lock = PTHREAD_MUTEX_INITIALIZER;

static running_test **place_of(uint64_t number) {
    running_test **place = &running_tests[number % lists];
    while (*place && (*place)->number != number) place = &(*place)->next;
    return place;
}

void failure_artifacts_baseline_begins(uint64_t test, uint64_t start) {
    if (!atomic_load(&is_on)) return;
    running_test *new = calloc(1, sizeof *new);
    if (!new) return;
    new->number = test;
    new->start = start;
    pthread_mutex_lock(&tests_lock);
    running_test **place = place_of(test);
    new->next = *place;
    *place = new;
    pthread_mutex_unlock(&tests_lock);
}

static void free_parts(running_test *test) {
    for (size_t index = 0; index < test->count; index++) free(test->parts[index].bytes);
    free(test->parts);
}

// Frees what was collected for a test. The lock is held.
static void give_up(running_test *test) {
    free_parts(test);
    collected -= test->size;
    test->parts = NULL;
    test->count = test->size = 0;
    test->is_incomplete = true;
}

// Adds a part, or gives up its test. Returns true if the part is the test's now. The lock is held.
static bool add_part(running_test *test, part added) {
    if (test->is_incomplete) return false;
    bool has_space = test->size + added.used <= maximum_test && collected + added.used <= maximum_tests;
    part *parts = has_space ? realloc(test->parts, (test->count + 1) * sizeof *parts) : NULL;
    if (!parts) {
        give_up(test);
        return false;
    }
    parts[test->count++] = added;
    test->parts = parts;
    test->size += added.used;
    collected += added.used;
    return true;
}

// Copies the statements that a test ran on a connection. The caller holds the connection.
static void collect(failure_artifacts_connection *connection, uint64_t test) {
    copying copying = {.test = test, .connection = connection};
    if (!failure_artifacts_log_read(connection->log, NULL, &copying, copy_chunk)) copying.is_incomplete = true;
    free(copying.texts);
    part part = copying.part;
    if (!part.first && !copying.is_incomplete) return;
    unsigned char *bytes = copying.is_incomplete ? NULL : realloc(part.bytes, part.used);
    if (bytes) part.bytes = bytes;
    pthread_mutex_lock(&tests_lock);
    running_test *running = *place_of(test);
    bool is_added = running && !copying.is_incomplete && add_part(running, part);
    if (running && copying.is_incomplete) give_up(running);
    pthread_mutex_unlock(&tests_lock);
    if (!is_added) free(part.bytes);
}

// The running tests that have used a connection.
typedef struct users {
    uint64_t tests[maximum_users];
    unsigned count;
} users;

// Adds the tests that have statements in a chunk. The lock is held.
static void add_users(void *context, const void *bytes, size_t used, const failure_artifacts_log_end *end) {
    (void)end;
    users *users = context;
    uint64_t last = 0;
    for (const record *here = first_record(bytes, used); here; here = next_record(bytes, used, here)) {
        if (here->kind != failure_artifacts_record_statement) continue;
        uint64_t test = ((const statement_record *)here)->test;
        if (!test || test == last) continue;
        last = test;
        running_test *running = *place_of(test);
        unsigned index = 0;
        while (index < users->count && users->tests[index] != test) index++;
        if (!running || running->is_incomplete || index < users->count) continue;
        if (index < maximum_users) users->tests[users->count++] = test;
        else give_up(running);
    }
}

void failure_artifacts_baseline_note_end(failure_artifacts_connection *connection) {
    if (!atomic_load(&is_on) || !connection->log) return;
    users users = {.count = 0};
    pthread_mutex_lock(&tests_lock);
    failure_artifacts_log_read(connection->log, NULL, &users, add_users);
    pthread_mutex_unlock(&tests_lock);
    for (unsigned index = 0; index < users.count; index++) collect(connection, users.tests[index]);
}

// MARK: - The end of a test

static int compare(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// Parts in the order of their first statements.
static int compare_parts(const void *left, const void *right) {
    return compare(&((const part *)left)->first, &((const part *)right)->first);
}

// Returns the number of elements up to a value.
static uint64_t rank(const uint64_t *sorted, size_t count, uint64_t value) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] <= value) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Returns the place of a stack's number, which is added if needed.
static size_t place_of_stack(uint32_t *stacks, size_t *count, uint32_t stack) {
    size_t place = 0;
    while (place < *count && stacks[place] != stack) place++;
    if (place == *count) stacks[(*count)++] = stack;
    return place;
}

// Returns the parts of a test, one after the other, and the numbers of their stacks; NULL without memory. Statements,
// connections and stacks are numbered from 1, in the order of the test.
static void *joined(running_test *test, size_t *statements, size_t *length) {
    size_t most = test->size / sizeof(statement_record), count = 0, stack_count = 0;
    uint64_t *orders = malloc(most * sizeof *orders);
    // Each stack has a statement.
    unsigned char *result = malloc(test->size + most * sizeof(uint32_t)), *next = result;
    if (!orders || !result) {
        free(orders);
        free(result);
        return NULL;
    }
    for (size_t index = 0; index < test->count; index++) {
        const unsigned char *bytes = test->parts[index].bytes;
        size_t used = test->parts[index].used;
        for (const record *here = first_record(bytes, used); here; here = next_record(bytes, used, here)) {
            if (here->kind == failure_artifacts_record_statement) orders[count++] = order_of(here);
        }
    }
    qsort(orders, count, sizeof *orders, compare);
    qsort(test->parts, test->count, sizeof *test->parts, compare_parts);
    uint32_t *stacks = (uint32_t *)(result + test->size);
    for (size_t index = 0; index < test->count; index++) {
        size_t used = test->parts[index].used;
        chunk *copy = memcpy(next, test->parts[index].bytes, used);
        next += used;
        atomic_store(&copy->connection, index + 1);
        atomic_store(&copy->used, (uint32_t)used);
        for (const record *here = first_record(copy, used); here; here = next_record(copy, used, here)) {
            uint64_t *first = (uint64_t *)(here + 1);
            if (here->kind == failure_artifacts_record_stack) {
                *first = place_of_stack(stacks, &stack_count, (uint32_t)*first) + 1;
            } else if (here->kind >= failure_artifacts_record_statement) {
                *first = rank(orders, count, *first);
            }
            if (here->kind == failure_artifacts_record_repeated) first[1] = rank(orders, count, first[1]);
        }
    }
    free(orders);
    *statements = test->size;
    *length = test->size + stack_count * sizeof *stacks;
    return result;
}

// Collects the statements on open connections. Returns false if one is in use all the time.
static bool collect_open(uint64_t test, uint64_t start) {
    size_t count = 0;
    uint64_t *serials = failure_artifacts_connections_used_since(start, &count);
    bool is_complete = serials != NULL;
    for (size_t index = 0; index < count; index++) {
        failure_artifacts_connection *connection = NULL;
        bool is_open = true;
        for (int attempt = 0; attempt < most_attempts && is_open && !connection; attempt++) {
            if (attempt > 0) usleep(attempt_pause);
            connection = failure_artifacts_borrow_numbered(serials[index], &is_open);
        }
        // One that has ended meanwhile was collected then.
        if (!connection && is_open) is_complete = false;
        if (!connection) continue;
        if (connection->log && failure_artifacts_log_may_have(connection->log, test)) collect(connection, test);
        failure_artifacts_borrowing_ends(connection);
    }
    free(serials);
    return is_complete;
}

void *failure_artifacts_baseline_take(uint64_t test, bool has_passed, size_t *statements, size_t *length) {
    int state = failure_artifacts_cancellation_disable();
    pthread_mutex_lock(&tests_lock);
    running_test *running = *place_of(test);
    if (running && running->is_ending) running = NULL;
    bool is_wanted = running && has_passed && !running->is_incomplete;
    if (running) running->is_ending = true;
    pthread_mutex_unlock(&tests_lock);
    void *result = NULL;
    if (running) {
        bool is_complete = is_wanted && collect_open(test, running->start);
        pthread_mutex_lock(&tests_lock);
        *place_of(test) = running->next;
        collected -= running->size;
        pthread_mutex_unlock(&tests_lock);
        if (is_complete && running->count > 0) result = joined(running, statements, length);
        free_parts(running);
        free(running);
    }
    failure_artifacts_cancellation_restore(state);
    return result;
}
