#include "redaction.h"

#include "sha256.h"

#include <sqlite3.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void failure_artifacts_sha256(const void *bytes, size_t size, unsigned char result[32]) {
    struct sha256 hash;
    sha256_begin(&hash);
    sha256_add(&hash, bytes, size);
    sha256_end(&hash, result);
}

void failure_artifacts_hmac_sha256(
    const void *key, size_t key_size, const void *message, size_t message_size, unsigned char result[32]) {
    struct hmac hmac;
    hmac_begin(&hmac, key, key_size);
    hmac_of(&hmac, message, message_size, result);
}

enum method { nothing, mask, hash };

static uint64_t first_bits(const unsigned char digest[32], int count) {
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) bits = bits << 8 | digest[i];
    return bits >> (64 - count);
}

static void redact_number(sqlite3_context *context, enum method method, sqlite3_value *value, const struct hmac *hmac) {
    bool is_integer = sqlite3_value_type(value) == SQLITE_INTEGER;
    if (method != hash) {
        if (is_integer) sqlite3_result_int(context, 0);
        else sqlite3_result_double(context, 0);
        return;
    }
    unsigned char digest[32];
    if (is_integer) {
        char digits[32];
        int count = snprintf(digits, sizeof digits, "%lld", (long long)sqlite3_value_int64(value));
        hmac_of(hmac, digits, (size_t)count, digest);
        sqlite3_result_int64(context, (sqlite3_int64)first_bits(digest, 62));
    } else {
        double number = sqlite3_value_double(value);
        uint64_t bits;
        unsigned char bytes[8];
        memcpy(&bits, &number, sizeof bits);
        for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(bits >> (56 - 8 * i));
        hmac_of(hmac, bytes, sizeof bytes, digest);
        sqlite3_result_double(context, (double)first_bits(digest, 53));
    }
}

static void redact_text(sqlite3_context *context, enum method method, sqlite3_value *value, const struct hmac *hmac) {
    // Get the pointer before the count, because this call converts the text of a UTF-16 database.
    const unsigned char *text = sqlite3_value_text(value);
    size_t count = (size_t)sqlite3_value_bytes(value);
    if (!text) return sqlite3_result_error_nomem(context);
    if (method == nothing) return sqlite3_result_text(context, "", 0, SQLITE_STATIC);
    if (method == hash) {
        unsigned char digest[32];
        char digits[32];
        hmac_of(hmac, text, count, digest);
        for (int i = 0; i < 32; i++) {
            digits[i] = "0123456789abcdef"[i % 2 == 0 ? digest[i / 2] >> 4 : digest[i / 2] & 15];
        }
        return sqlite3_result_text(context, digits, sizeof digits, SQLITE_TRANSIENT);
    }
    size_t characters = 0;
    for (size_t i = 0; i < count; i++) characters += (text[i] & 0xc0) != 0x80;
    // One byte more, because an allocation of 0 bytes returns NULL.
    char *stars = sqlite3_malloc64(characters + 1);
    if (!stars) return sqlite3_result_error_nomem(context);
    memset(stars, '*', characters);
    sqlite3_result_text64(context, stars, characters, sqlite3_free, SQLITE_UTF8);
}

static void redact_blob(sqlite3_context *context, enum method method, sqlite3_value *value, const struct hmac *hmac) {
    const void *bytes = sqlite3_value_blob(value);
    int count = sqlite3_value_bytes(value);
    if (method == hash) {
        unsigned char digest[32];
        hmac_of(hmac, bytes ? bytes : "", (size_t)count, digest);
        sqlite3_result_blob(context, digest, sizeof digest, SQLITE_TRANSIENT);
    } else {
        sqlite3_result_zeroblob(context, method == mask ? count : 0);
    }
}

static void redact(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    const struct hmac *hmac = sqlite3_user_data(context);
    enum method method = (enum method)sqlite3_value_int(values[0]);
    switch (sqlite3_value_type(values[1])) {
    case SQLITE_NULL: sqlite3_result_null(context); break;
    case SQLITE_TEXT: redact_text(context, method, values[1], hmac); break;
    case SQLITE_BLOB: redact_blob(context, method, values[1], hmac); break;
    default: redact_number(context, method, values[1], hmac); break;
    }
}

int failure_artifacts_add_redact(sqlite3 *db, const void *key, size_t key_size) {
    struct hmac *hmac = malloc(sizeof *hmac);
    if (!hmac) return SQLITE_NOMEM;
    hmac_begin(hmac, key, key_size);
    // SQLite also frees it if this fails.
    return sqlite3_create_function_v2(
        db, "failure_artifacts_redact", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, hmac, redact, NULL,
        NULL, free);
}
