#ifndef CFAILUREARTIFACTS_ZLIB_SHIM_H
#define CFAILUREARTIFACTS_ZLIB_SHIM_H

#include <stdbool.h>
#include <zlib.h>

// deflateInit2 and inflateInit2 are macros that pass the header's version and structure size; Swift does not
// import macros with arguments.
static inline int failure_artifacts_deflate_init(
    z_stream *stream, int level, int window_bits, int memory_level, int strategy) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, memory_level, strategy);
}

static inline int failure_artifacts_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

// Decompresses raw deflate data in one step. Returns true if it is valid and fills the output.
static inline bool failure_artifacts_inflate_whole(
    Bytef *input, unsigned input_size, Bytef *output, unsigned output_size) {
    z_stream stream = {.next_in = input, .avail_in = input_size, .next_out = output, .avail_out = output_size};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
    int result = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    return result == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
}

#endif
