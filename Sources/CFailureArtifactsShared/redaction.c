#include "redaction.h"

#include <sqlite3.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: - SHA-256

// The first 32 bits of the fractions of the cube roots of the first 64 primes.
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void add_block(uint32_t state[8], const unsigned char *block) {
    uint32_t words[64];
    for (int i = 0; i < 16; i++) {
        const unsigned char *bytes = block + i * 4;
        words[i] = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t x = words[i - 15], y = words[i - 2];
        words[i] = words[i - 16] + (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + words[i - 7]
            + (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t first =
            h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + words[i];
        uint32_t second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

// The state of a SHA-256 hash (FIPS 180-4) of bytes that arrive in pieces.
struct sha256 {
    uint32_t state[8];
    uint64_t size;
    unsigned char block[64];
};

static void sha256_begin(struct sha256 *hash) {
    // The first 32 bits of the fractions of the square roots of the first eight primes.
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    memcpy(hash->state, start, sizeof start);
    hash->size = 0;
}

static void sha256_add(struct sha256 *hash, const void *bytes, size_t count) {
    const unsigned char *next = bytes;
    while (count > 0) {
        size_t used = hash->size % 64;
        if (used == 0 && count >= 64) {
            add_block(hash->state, next);
            hash->size += 64, next += 64, count -= 64;
            continue;
        }
        size_t taken = count < 64 - used ? count : 64 - used;
        memcpy(hash->block + used, next, taken);
        hash->size += taken, next += taken, count -= taken;
        if (hash->size % 64 == 0) add_block(hash->state, hash->block);
    }
}

static void sha256_end(struct sha256 *hash, unsigned char result[32]) {
    static const unsigned char padding[64] = {0x80};
    unsigned char size[8];
    uint64_t bits = hash->size * 8;
    for (int i = 0; i < 8; i++) size[i] = (unsigned char)(bits >> (56 - 8 * i));
    size_t used = hash->size % 64;
    sha256_add(hash, padding, (used < 56 ? 56 : 120) - used);
    sha256_add(hash, size, 8);
    for (int i = 0; i < 32; i++) result[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

// The state of an HMAC (RFC 2104): both hashes after their key blocks. It is copied for each message.
struct hmac {
    struct sha256 inner;
    struct sha256 outer;
};

static void hmac_begin(struct hmac *hmac, const void *key, size_t count) {
    unsigned char block[64] = {0};
    if (count > sizeof block) {
        sha256_begin(&hmac->inner);
        sha256_add(&hmac->inner, key, count);
        sha256_end(&hmac->inner, block);
    } else if (count > 0) {
        memcpy(block, key, count);
    }
    for (int i = 0; i < 64; i++) block[i] ^= 0x36;
    sha256_begin(&hmac->inner);
    sha256_add(&hmac->inner, block, sizeof block);
    for (int i = 0; i < 64; i++) block[i] ^= 0x36 ^ 0x5c;
    sha256_begin(&hmac->outer);
    sha256_add(&hmac->outer, block, sizeof block);
}

static void hmac_of(const struct hmac *hmac, const void *message, size_t count, unsigned char result[32]) {
    struct sha256 inner = hmac->inner, outer = hmac->outer;
    sha256_add(&inner, message, count);
    sha256_end(&inner, result);
    sha256_add(&outer, result, 32);
    sha256_end(&outer, result);
}

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

// MARK: - The SQL function

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
