#include "log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// A log keeps the last statements. Before its oldest chunk is cleared, the first execution of each statement in it moves to
// chunks of their own, with the number of the others. So a loop doesn't push the other statements out.
//
// Statements are the same if their texts have the same shape, which leaves out values, and if the same functions ran them.
// Most executions in a loop have no stack; they count for the last one of that shape that has one.

enum {
    maximum_chunks = 4,
    // The places of the index; a power of 2.
    places = 1024,
    // The errors in a chunk that are found.
    maximum_errors = 32,
    // The texts of a chunk that are remembered; a power of 2.
    known_texts = 64,
};

typedef failure_artifacts_chunk chunk;
typedef failure_artifacts_record record;
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
        reader(context, chunk, atomic_load_explicit(&chunk->used, memory_order_acquire), NULL);
    }
}

// MARK: - The oldest chunk

// A text of the chunk, and its executions that are not counted yet: those without a stack.
typedef struct known_text {
    uint32_t text;
    uint32_t hash;
    const statement_record *first;
    repeated_record executions;
} known_text;

// A chunk whose statements move.
typedef struct source {
    const unsigned char *bytes;
    size_t used;
    const failure_artifacts_error_record *errors[maximum_errors];
    unsigned error_count;
    known_text texts[known_texts];
} source;

static const record *record_at(const source *source, size_t offset) { return (const record *)(source->bytes + offset); }

static const record *next_record(const source *source, const record *here) {
    size_t offset = (size_t)((const unsigned char *)here - source->bytes) + ((here->length + 7) & ~(size_t)7);
    return offset < source->used ? record_at(source, offset) : NULL;
}

static const record *first_record(const source *source) {
    return source->used > sizeof(chunk) ? record_at(source, sizeof(chunk)) : NULL;
}

static bool ran(const record *record) { return record->kind == failure_artifacts_record_statement && !record->flags; }

static const failure_artifacts_error_record *error_of(const source *source, uint64_t order) {
    for (unsigned index = 0; index < source->error_count; index++) {
        if (source->errors[index]->order == order) return source->errors[index];
    }
    return NULL;
}

// Returns the record of this kind that follows a statement and belongs to it; NULL without such a record.
static const record *following(const source *source, const statement_record *statement, uint8_t kind) {
    const record *next = &statement->record;
    while ((next = next_record(source, next)) && next->kind >= failure_artifacts_record_error) {
        // The number is the first field of all of these.
        if (next->kind == kind && *(const uint64_t *)(next + 1) == statement->order) return next;
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

static uint32_t stack_hash(const source *source, uint32_t stack) {
    const record *record = record_at(source, stack);
    uint32_t hash = 0x811c9dc5;
    for (size_t offset = sizeof *record; offset + 4 <= record->length; offset += 4) {
        uint32_t word;
        memcpy(&word, (const char *)record + offset, sizeof word);
        hash = add_to_hash(hash, word);
    }
    return hash;
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
    failure_artifacts_log_add_connection(log, connection->path ? connection->path : "");
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
    const statement_record *statement) {
    const record *text = record_at(source, statement->text);
    const failure_artifacts_error_record *error = error_of(source, statement->order);
    uint32_t stack = statement->stack || !error ? statement->stack : error->stack;
    const record *parts[] = {
        stack ? record_at(source, stack) : NULL,
        following(source, statement, failure_artifacts_record_values),
        following(source, statement, failure_artifacts_record_end),
    };
    size_t needed =
        text->length + sizeof *statement + sizeof(repeated_record) + 32 + (error ? error->record.length + 8 : 0);
    for (unsigned index = 0; index < 3; index++) needed += parts[index] ? parts[index]->length + 8 : 0;
    if (!failure_artifacts_log_place(log, needed, 0)
        && (!begin_chunk(log, connection) || !failure_artifacts_log_place(log, needed, 0)))
        return 0;
    statement_record moved = *statement;
    moved.text = copy(log, text);
    moved.stack = copy(log, parts[0]);
    copy(log, &moved.record);
    copy(log, parts[1]);
    copy(log, parts[2]);
    uint32_t moved_error = copy(log, (const record *)error);
    if (moved_error) ((failure_artifacts_error_record *)((char *)log->chunk + moved_error))->stack = 0;
    repeated_record repeated = {
        .record = {sizeof repeated, failure_artifacts_record_repeated, 0, 0}, .order = statement->order};
    return copy(log, &repeated.record);
}

static entry *place_of(failure_artifacts_log *log, uint32_t key) { return &log->repetitions->index[key % places]; }

static int64_t sum(int64_t changes, int64_t more) { return changes < 0 || more < 0 ? -1 : changes + more; }

// Adds a statement, or counts it for one that is known. `executions` are those that it stands for.
static void move(
    failure_artifacts_log *log, failure_artifacts_connection *connection, const source *source, uint32_t shape,
    const statement_record *statement, const repeated_record *executions) {
    const failure_artifacts_error_record *error = error_of(source, statement->order);
    shape = add_to_hash(shape, error ? (uint32_t)error->code : 0) | 1;
    uint32_t key = statement->stack ? add_to_hash(shape, stack_hash(source, statement->stack)) | 1 : shape;
    entry found = *place_of(log, key);
    if (found.key != key) {
        uint32_t offset = add(log, connection, source, statement);
        if (!offset) return;
        found = (entry){key, (uint16_t)log->repetitions->current, (uint16_t)(offset / 8)};
    }
    *place_of(log, key) = found;
    found.key = shape;
    *place_of(log, shape) = found;
    repeated_record *repeated =
        (repeated_record *)((unsigned char *)log->repetitions->chunks[found.chunk] + found.offset * 8);
    repeated->count += executions->count;
    repeated->last_order = executions->last_order;
    repeated->changes = sum(repeated->changes, executions->changes);
}

static void count(
    failure_artifacts_log *log, failure_artifacts_connection *connection, const source *source, known_text *text) {
    if (text->first) move(log, connection, source, text->hash, text->first, &text->executions);
    text->first = NULL;
}

// Handles a statement of the chunk. `changes` is -1 if unknown.
static void handle(
    failure_artifacts_log *log, failure_artifacts_connection *connection, source *source,
    const statement_record *statement, int64_t changes) {
    known_text *text = &source->texts[statement->text / 8 % known_texts];
    if (text->text != statement->text) {
        count(log, connection, source, text);
        *text = (known_text){.text = statement->text, .hash = shape_of(source, statement->text)};
    }
    if (text->first && !statement->stack && source->error_count == 0) {
        text->executions.count++;
        text->executions.last_order = statement->order;
        text->executions.changes = sum(text->executions.changes, changes);
        return;
    }
    count(log, connection, source, text);
    text->executions = (repeated_record){.last_order = statement->order, .changes = changes, .count = 1};
    text->first = statement;
    if (statement->stack || source->error_count > 0) count(log, connection, source, text);
}

void failure_artifacts_log_fold(failure_artifacts_log *log, failure_artifacts_connection *connection) {
    failure_artifacts_repetitions *all = log->repetitions;
    if (!all && !(all = log->repetitions = calloc(1, sizeof *all))) return;
    if (all->count > 0) {
        chunk *last = all->chunks[all->current];
        failure_artifacts_log_continue(log, last, atomic_load_explicit(&last->used, memory_order_relaxed));
    } else if (!begin_chunk(log, connection)) {
        return;
    }
    const chunk *oldest = log->parts[0].chunk, *second = log->parts[1].chunk;
    source source = {
        .bytes = (const unsigned char *)oldest, .used = atomic_load_explicit(&oldest->used, memory_order_relaxed)};
    for (const record *here = first_record(&source); here; here = next_record(&source, here)) {
        if (here->kind == failure_artifacts_record_error && source.error_count < maximum_errors)
            source.errors[source.error_count++] = (const failure_artifacts_error_record *)here;
    }
    struct source after = {
        .bytes = (const unsigned char *)second, .used = atomic_load_explicit(&second->used, memory_order_relaxed)};
    const record *next = first_record(&after);
    while (next && !ran(next)) next = next_record(&after, next);
    const statement_record *last = NULL;
    for (const record *here = first_record(&source); here; here = next_record(&source, here)) {
        if (here->kind != failure_artifacts_record_statement) continue;
        const statement_record *this = (const statement_record *)here;
        if (here->flags) {
            handle(log, connection, &source, this, 0);
            continue;
        }
        if (last) handle(log, connection, &source, last, (uint32_t)(this->changes - last->changes));
        last = this;
    }
    if (last) {
        int64_t changes = next ? (uint32_t)(((const statement_record *)next)->changes - last->changes) : -1;
        handle(log, connection, &source, last, changes);
    }
    for (unsigned place = 0; place < known_texts; place++) count(log, connection, &source, &source.texts[place]);
}
