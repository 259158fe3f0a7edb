#ifndef CFAILUREARTIFACTS_ZLIB_SHIM_H
#define CFAILUREARTIFACTS_ZLIB_SHIM_H

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

#endif
