#define _GNU_SOURCE
#include "images.h"

#ifdef __linux__

#include <link.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

typedef struct visit {
    void *context;
    void (*body)(void *context, const failure_artifacts_image_in_memory *image);
    bool is_first;
} visit;

static int visit_image(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    visit *visit = context;
    char executable[PATH_MAX];
    failure_artifacts_image_in_memory image = {.path = info->dlpi_name, .base = info->dlpi_addr};
    if (visit->is_first) {
        ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
        executable[length < 0 ? 0 : length] = 0;
        image.path = executable;
        visit->is_first = false;
    }
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && !image.end) {
            image.start = start;
            image.end = start + segment->p_memsz;
        }
    }
    // The kernel's own page (vDSO) has no file.
    if (image.path[0] == '/') visit->body(visit->context, &image);
    return 0;
}

void failure_artifacts_each_image(
    void *context, void (*body)(void *context, const failure_artifacts_image_in_memory *image)) {
    visit visit = {context, body, true};
    dl_iterate_phdr(visit_image, &visit);
}

static int read_count(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    *(uint64_t *)context = info->dlpi_adds;
    return 1;
}

uint64_t failure_artifacts_loaded_images(void) {
    uint64_t count = 0;
    dl_iterate_phdr(read_count, &count);
    return count;
}

// swift/Runtime/Backtrace.h. swift_demangle would add the module and the types.
__attribute__((weak)) char *_swift_backtrace_demangle(const char *name, size_t length, char *output, size_t *capacity);

char *failure_artifacts_demangled(const char *name) {
    return _swift_backtrace_demangle ? _swift_backtrace_demangle(name, strlen(name), NULL, NULL) : NULL;
}

#else

#include <mach-o/dyld.h>

void failure_artifacts_each_image(
    void *context, void (*body)(void *context, const failure_artifacts_image_in_memory *image)) {
    for (uint32_t index = 0; index < _dyld_image_count(); index++) {
        failure_artifacts_image_in_memory image = {
            .path = _dyld_get_image_name(index), .base = (uint64_t)_dyld_get_image_vmaddr_slide(index)};
        if (image.path) body(context, &image);
    }
}

uint64_t failure_artifacts_loaded_images(void) { return _dyld_image_count(); }

char *failure_artifacts_demangled(const char *name) {
    (void)name;
    return NULL;
}

#endif

size_t failure_artifacts_range_of(uint64_t address, const uint64_t *bounds, size_t count) {
    size_t index = 0;
    while (index < count && !(bounds[2 * index] < address && address <= bounds[2 * index + 1])) index++;
    return index;
}
