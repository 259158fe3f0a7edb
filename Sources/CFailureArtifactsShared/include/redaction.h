#pragma once

#include <stddef.h>

// Declared, not included: a module that includes <sqlite3.h> may be taken for the one that defines it.
struct sqlite3;

// The parts of the redaction that run for every value or every byte. They are in C because users compile this
// without optimisation, and Swift then takes a hundred times as long.

// Computes a SHA-256 hash (FIPS 180-4).
void failure_artifacts_sha256(const void *bytes, size_t size, unsigned char result[32]);

// Computes an HMAC-SHA-256 (RFC 2104, FIPS 180-4).
void failure_artifacts_hmac_sha256(
    const void *key, size_t key_size, const void *message, size_t message_size, unsigned char result[32]);

// Adds the SQL function `failure_artifacts_redact(method, value)` to a connection. The result has the type of the
// value; for null it is null:
//
//   0  nothing: an empty text or blob, the number 0
//   1  a mask: an asterisk for each character of a text, a zero for each byte of a blob, the number 0
//   2  a keyed hash: HMAC-SHA-256 of the text's UTF-8, the blob's bytes, the integer's decimal digits, or the real's
//      eight bytes, most significant first. A text becomes the hash's first 16 bytes in hexadecimal, and a blob
//      becomes the whole hash. An integer becomes its first 62 bits, and a real its first 53 bits.
//
// Returns SQLite's result code.
int failure_artifacts_add_redact(struct sqlite3 *db, const void *key, size_t key_size);
