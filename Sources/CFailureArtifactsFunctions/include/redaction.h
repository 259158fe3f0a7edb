#ifndef CFAILUREARTIFACTS_REDACTION_H
#define CFAILUREARTIFACTS_REDACTION_H

#include <stddef.h>

// Declared, not included: a module that includes <sqlite3.h> may be taken for the one that defines it.
struct sqlite3;

// What the redaction of stores does for every value or every byte. In C because users compile this without
// optimisation, where Swift takes a hundred times as long.

// HMAC-SHA-256 (RFC 2104, FIPS 180-4).
void failure_artifacts_hmac_sha256(
    const void *key, size_t key_size, const void *message, size_t message_size, unsigned char result[32]);

// Adds the SQL function `failure_artifacts_redact(method, value)` to a connection. Its result has the type of the
// value, and for null is null:
//
//   0  nothing: an empty text or blob, the number 0
//   1  a mask: an asterisk for each character of a text, a zero for each byte of a blob, the number 0
//   2  a keyed hash, HMAC-SHA-256 of the text's UTF-8, the blob's bytes, the integer's decimal digits or the eight
//      bytes of the real, most significant first. As a text its first 16 bytes in hexadecimal, as a blob all of
//      it, as an integer its first 62 bits, as a real its first 53 bits.
//
// Returns SQLite's result code.
int failure_artifacts_add_redact(struct sqlite3 *db, const void *key, size_t key_size);

#endif
