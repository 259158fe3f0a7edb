#ifndef CFAILUREARTIFACTS_SHA256_H
#define CFAILUREARTIFACTS_SHA256_H

#include <stddef.h>
#include <stdint.h>

// The state of a SHA-256 hash (FIPS 180-4) of bytes that arrive in pieces.
struct sha256 {
    uint32_t state[8];
    uint64_t size;
    unsigned char block[64];
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t count);
void sha256_end(struct sha256 *hash, unsigned char result[32]);

// The state of an HMAC (RFC 2104): both hashes after their key blocks. It is copied for each message.
struct hmac {
    struct sha256 inner;
    struct sha256 outer;
};

void hmac_begin(struct hmac *hmac, const void *key, size_t count);
void hmac_of(const struct hmac *hmac, const void *message, size_t count, unsigned char result[32]);

#endif
