#include "log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// A log keeps the last statements. Before its oldest chunk is cleared, the first execution of each statement in it
// moves to chunks of their own, with the number of the others. So a loop doesn't push the other statements out.
//
// Statements are the same if their texts have the same shape, which leaves out values, and if the same functions ran
// them; on a connection that a test has left open, also if one thread ran them, all in tests or all outside. Most
// executions in a loop have no stack; they count for the last one of that shape that has one.

enum {
    maximum_chunks = 4,
    // The places of the index; a power of 2. A key is in one of several: with one each, two statements in a loop whose
    // keys share it would push each other out all the time.
    places = 1024,
    near_places = 8,
    // The texts whose hash is kept while a chunk moves.
    known_shapes = 16,
};

typedef failure_artifacts_statement_record statement_record;
typedef failure_artifacts_repeated_record repeated_record;

// The last repeated record of a key.
typedef struct entry {
    // 0 if the place is unused.
    uint32_t key;
    uint16_t chunk;
    // In units of 8 bytes.
    uint16_t offset;
} entry;

struct failure_artifacts_repetitions {
    chunk *chunks[maximum_chunks];
    unsigned count;
    // The chunk that is written. If all are full, the oldest one is cleared.
    unsigned current;
    entry index[places];
};

void failure_artifacts_repetitions_free(failure_artifacts_repetitions *repetitions) {
    if (!repetitions) return;
    for (unsigned number = 0; number < repetitions->count; number++)
        failure_artifacts_chunk_free(repetitions->chunks[number]);
    free(repetitions);
}

void failure_artifacts_repetitions_read(
    const failure_artifacts_repetitions *repetitions, void *context, failure_artifacts_log_reader reader) {
    for (unsigned number = 0; repetitions && number < repetitions->count; number++) {
        const chunk *chunk = repetitions->chunks[(repetitions->current + 1 + number) % repetitions->count];
        reader(context, chunk, atomic_load(&chunk->used), NULL);
    }
}

// MARK: - The oldest chunk

// A chunk whose statements move.
typedef struct source {
    const unsigned char *bytes;
    size_t used;
    // Texts of statements that were moved, and their hashes: a loop alternates between a few.
    struct {
        uint32_t text;
        uint32_t shape;
    } shapes[known_shapes];
} source;

static const record *record_at(const source *source, size_t offset) { return (const record *)(source->bytes + offset); }

static bool ran(const record *record) { return record->kind == failure_artifacts_record_statement && !record->flags; }

bool failure_artifacts_chunk_has_writes(const chunk *chunk) {
    size_t used = atomic_load(&chunk->used);
    for (const record *here = first_record(chunk, used); here; here = next_record(chunk, used, here)) {
        const statement_record *statement = (const statement_record *)here;
        if (here->kind == failure_artifacts_record_statement
            && statement->transaction != failure_artifacts_transaction_is_unknown)
            return true;
    }
    return false;
}

// Returns the record of this kind that follows a statement and belongs to it; NULL without such a record.
static const record *following(const source *source, const statement_record *statement, uint8_t kind) {
    const record *next = &statement->record;
    while ((next = next_record(source->bytes, source->used, next))
           && next->kind != failure_artifacts_record_statement) {
        if (next->kind == kind && order_of(next) == statement->order) return next;
    }
    return NULL;
}

static uint32_t add_to_hash(uint32_t hash, uint32_t value) { return (hash ^ value) * 0x01000193; }

// Returns a hash of a text without its numbers and strings (FNV-1a).
static uint32_t shape_of(const source *source, uint32_t text) {
    const record *record = record_at(source, text);
    const char *next = (const char *)(record + 1), *end = (const char *)record + record->length;
    uint32_t hash = 0x811c9dc5;
    for (bool is_word = false; next < end; next++) {
        if (*next == '\'') {
            for (next++; next < end && *next != '\'';) next++;
        } else if (is_word || !isdigit((unsigned char)*next)) {
            hash = add_to_hash(hash, (unsigned char)*next);
            is_word = isalpha((unsigned char)*next) || *next == '_' || (is_word && isdigit((unsigned char)*next));
        }
    }
    return hash;
}

static uint32_t known_shape_of(source *source, uint32_t text) {
    unsigned place = text / 8 % known_shapes;
    if (source->shapes[place].text != text) {
        source->shapes[place].text = text;
        source->shapes[place].shape = shape_of(source, text);
    }
    return source->shapes[place].shape;
}

// MARK: - Moving

static bool begin_chunk(failure_artifacts_log *log, failure_artifacts_connection *connection) {
    failure_artifacts_repetitions *all = log->repetitions;
    chunk *next = NULL;
    if (all->count < maximum_chunks && (next = failure_artifacts_chunk_take(connection->serial))) {
        all->current = all->count++;
        all->chunks[all->current] = next;
    } else if (all->count > 0) {
        all->current = (all->current + 1) % all->count;
        next = all->chunks[all->current];
        failure_artifacts_chunk_clear(next);
        for (unsigned place = 0; place < places; place++) {
            if (all->index[place].chunk == all->current) all->index[place].key = 0;
        }
    } else {
        return false;
    }
    failure_artifacts_log_continue(log, next, sizeof *next);
    failure_artifacts_log_add_connection(log, connection);
    return true;
}

// Returns the offset of the copy; 0 if there is nothing to copy, or no space for it.
static uint32_t copy(failure_artifacts_log *log, const record *original) {
    void *place = original ? failure_artifacts_log_place(log, original->length, 0) : NULL;
    if (!place) return 0;
    memcpy(place, original, original->length);
    return failure_artifacts_log_complete(log, original->length);
}

// Adds a statement that is not known yet. Returns the offset of its repeated record; 0 if there is no space for it.
static uint32_t add(
    failure_artifacts_log *log, failure_artifacts_connection *connection, const source *source,
    const statement_record *statement, const failure_artifacts_error_record *error) {
    uint32_t stack = statement->stack || !error ? statement->stack : error->stack;
    statement_record moved = *statement;
    repeated_record repeated = {
        .record = {sizeof repeated, failure_artifacts_record_repeated, 0, 0}, .order = statement->order};
    // In the order of the chunk: a record refers to earlier ones.
    enum { text_part, stack_part, statement_part, values_part, end_part, error_part, repeated_part, part_count };
    const record *parts[part_count] = {
        [text_part] = record_at(source, statement->text),
        [stack_part] = stack ? record_at(source, stack) : NULL,
        [statement_part] = &moved.record,
        [values_part] = following(source, statement, failure_artifacts_record_values),
        [end_part] = following(source, statement, failure_artifacts_record_end),
        [error_part] = (const record *)error,
        [repeated_part] = &repeated.record,
    };
    uint32_t needed = 0, offsets[part_count];
    for (unsigned part = 0; part < part_count; part++) needed += parts[part] ? parts[part]->length + 8 : 0;
    if (!failure_artifacts_log_place(log, needed, 0)
        && (!begin_chunk(log, connection) || !failure_artifacts_log_place(log, needed, 0)))
        return 0;
    for (unsigned part = 0; part < part_count; part++) {
        offsets[part] = copy(log, parts[part]);
        if (part == text_part) moved.text = offsets[part];
        if (part == stack_part) moved.stack = offsets[part];
    }
    // The stack is the statement's now.
    if (error) ((failure_artifacts_error_record *)((char *)log->chunk + offsets[error_part]))->stack = 0;
    return offsets[repeated_part];
}

// Returns the place of a key: the one that has it, or else an unused one nearby, or the first.
static entry *place_of(failure_artifacts_log *log, uint32_t key) {
    entry *unused = NULL;
    for (unsigned next = 0; next < near_places; next++) {
        entry *place = &log->repetitions->index[(key + next) % places];
        if (place->key == key) return place;
        if (!place->key && !unused) unused = place;
    }
    return unused ? unused : &log->repetitions->index[key % places];
}

// Adds a statement, or counts it for one that is known. `changes` is -1 if unknown.
static void move(
    failure_artifacts_log *log, failure_artifacts_connection *connection, source *source,
    const statement_record *statement, int64_t changes) {
    const failure_artifacts_error_record *error =
        (const void *)following(source, statement, failure_artifacts_record_error);
    uint32_t shape = known_shape_of(source, statement->text);
    if (error) shape = add_to_hash(shape, (uint32_t)error->code);
    // A thread that goes on after its test is told from the tests that use the same connection.
    if (atomic_load_explicit(&connection->is_left, memory_order_relaxed))
        shape = add_to_hash(add_to_hash(shape, (uint32_t)statement->thread), statement->test != 0);
    shape |= 1;
    uint32_t key = shape;
    if (statement->stack) {
        const record *stack = record_at(source, statement->stack);
        key = add_to_hash(shape, failure_artifacts_log_hash(stack + 1, stack->length - sizeof *stack)) | 1;
    }
    entry *place = place_of(log, key);
    if (place->key != key) {
        uint32_t offset = add(log, connection, source, statement, error);
        if (!offset) return;
        *place = (entry){key, (uint16_t)log->repetitions->current, (uint16_t)(offset / 8)};
    }
    entry found = *place;
    if (shape != key) *place_of(log, shape) = (entry){shape, found.chunk, found.offset};
    repeated_record *repeated =
        (repeated_record *)((unsigned char *)log->repetitions->chunks[found.chunk] + found.offset * 8);
    repeated->count++;
    repeated->last_order = statement->order;
    repeated->changes = repeated->changes < 0 || changes < 0 ? -1 : repeated->changes + changes;
}

void failure_artifacts_log_fold(failure_artifacts_log *log, failure_artifacts_connection *connection) {
    failure_artifacts_repetitions *all = log->repetitions;
    if (!all && !(all = log->repetitions = calloc(1, sizeof *all))) return;
    if (all->count > 0) {
        chunk *last = all->chunks[all->current];
        failure_artifacts_log_continue(log, last, atomic_load(&last->used));
    } else if (!begin_chunk(log, connection)) {
        return;
    }
    const chunk *oldest = log->parts[0].chunk, *second = log->parts[1].chunk;
    source source = {.bytes = (const void *)oldest, .used = atomic_load(&oldest->used)};
    size_t second_used = atomic_load(&second->used);
    const record *next = first_record(second, second_used);
    while (next && !ran(next)) next = next_record(second, second_used, next);
    const statement_record *last = NULL;
    for (const record *here = first_record(oldest, source.used); here; here = next_record(oldest, source.used, here)) {
        const statement_record *this = (const statement_record *)here;
        // One that could not be prepared has changed nothing.
        if (here->kind == failure_artifacts_record_statement && here->flags) {
            move(log, connection, &source, this, 0);
        } else if (ran(here)) {
            if (last) move(log, connection, &source, last, (uint32_t)(this->changes - last->changes));
            last = this;
        }
    }
    int64_t changes = last && next ? (uint32_t)(((const statement_record *)next)->changes - last->changes) : -1;
    if (last) move(log, connection, &source, last, changes);
}
