#include "names.h"

#include <stddef.h>
#include <string.h>

#ifdef __linux__

// swift/Runtime/Backtrace.h. swift_demangle would add the module and the types.
__attribute__((weak)) char *_swift_backtrace_demangle(const char *name, size_t length, char *output, size_t *capacity);

char *failure_artifacts_demangled(const char *name) {
    return _swift_backtrace_demangle ? _swift_backtrace_demangle(name, strlen(name), NULL, NULL) : NULL;
}

#else

char *failure_artifacts_demangled(const char *name) {
    (void)name;
    return NULL;
}

#endif
