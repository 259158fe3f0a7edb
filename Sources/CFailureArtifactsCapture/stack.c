#define _GNU_SOURCE // For pthread_getattr_np() and dl_iterate_phdr().

#include "stack.h"

#ifdef __linux__

#include <link.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

enum {
    // The stack that must be left, in bytes: unwinding takes some of it.
    least_left = 16 << 10,
    // The maximum number of this package's and SQLite's own frames.
    maximum_inside = 32,
    // The calls whose way out each thread remembers, and its searches for them. The walk ends at others.
    skip_bits = 7,
    maximum_skips = 1 << skip_bits,
    maximum_searches = 512,
};

// Sanitizers would report the words of the stack that belong to no variable.
#define READS_STACK __attribute__((no_sanitize("address", "thread", "memory", "undefined")))

// MARK: - The code of SQLite

// The code of the SQLite library; empty if SQLite is linked into the same file as this code.
static uintptr_t library_start, library_end;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static int is_library(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    uintptr_t sqlite = (uintptr_t)sqlite3_reset, own = (uintptr_t)failure_artifacts_stack;
    uintptr_t found_start = 0, found_end = 0;
    bool has_own = false;
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[index];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (sqlite >= start && sqlite < end) found_start = start, found_end = end;
        if (own >= start && own < end) has_own = true;
    }
    if (!found_end) return 0;
    if (!has_own) library_start = found_start, library_end = found_end;
    return 1;
}

static void find_library(void) { dl_iterate_phdr(is_library, NULL); }

// The functions that call SQLite's own ones; see taken_over.c.
extern const char __start_failure_artifacts_taken[] __attribute__((weak, visibility("hidden")));
extern const char __stop_failure_artifacts_taken[] __attribute__((weak, visibility("hidden")));

static bool is_taken(uintptr_t address) {
    return address >= (uintptr_t)__start_failure_artifacts_taken && address < (uintptr_t)__stop_failure_artifacts_taken;
}

// True if a frame belongs to SQLite, whose frames follow those of this package.
static bool is_inside(uintptr_t address, bool was_inside) {
    if (is_taken(address)) return true;
    if (library_end) return address >= library_start && address < library_end;
    return !was_inside && _Unwind_FindEnclosingFunction((void *)(address - 1)) == (void *)sqlite3_step;
}

void failure_artifacts_stack_prepare(void) { pthread_once(&library_once, find_library); }

// A function's frame, while a call from that function is under way.
typedef struct position {
    // The return address; 0 if there is no such frame.
    uintptr_t address;
    // The registers at that address. The frame pointer is the function's own or, if it has none, any value.
    uintptr_t stack_pointer;
    uintptr_t frame_pointer;
} position;

// MARK: - The thread's stack

// Set by glibc: the end of the main thread's stack.
extern void *__libc_stack_end __attribute__((weak));

typedef struct range {
    uintptr_t start;
    uintptr_t end;
} range;

static _Thread_local range stack;
static _Thread_local bool is_stack_known;

// Returns the addresses of this thread's stack; empty if they can't be known.
static range find_stack(void) {
    if (getpid() == syscall(SYS_gettid)) {
        // pthread_getattr_np() would read /proc/self/maps.
        struct rlimit limit;
        if (!&__libc_stack_end || getrlimit(RLIMIT_STACK, &limit) != 0) return (range){0, 0};
        uintptr_t end = (uintptr_t)__libc_stack_end;
        uintptr_t size = limit.rlim_cur == RLIM_INFINITY ? (uintptr_t)1 << 30 : limit.rlim_cur;
        return (range){size < end ? end - size : 0, end};
    }
    pthread_attr_t attributes;
    void *address = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return (range){0, 0};
    bool is_known = pthread_attr_getstack(&attributes, &address, &size) == 0;
    pthread_attr_destroy(&attributes);
    return is_known ? (range){(uintptr_t)address, (uintptr_t)address + size} : (range){0, 0};
}

// Returns the address without a signature: on arm64, libraries may sign return addresses on the stack.
static uintptr_t without_signature(uintptr_t address) {
#if defined(__aarch64__)
    // XPACLRI, which does nothing on processors without signatures.
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30));
    return x30;
#else
    return address;
#endif
}

// Goes to the caller of a function that has a frame pointer. Returns false if it has none.
READS_STACK static bool follow_frame_pointer(position *position) {
    uintptr_t frame = position->frame_pointer;
    if (frame < position->stack_pointer || frame > stack.end - 2 * sizeof frame || frame % sizeof frame != 0)
        return false;
    // Each frame starts with the caller's frame pointer, followed by the return address.
    const uintptr_t *words = (const uintptr_t *)frame;
    position->address = without_signature(words[1]);
    position->stack_pointer = frame + 2 * sizeof frame;
    // Swift marks the frames of async functions with this bit.
    position->frame_pointer = words[0] & ~((uintptr_t)1 << 60);
    return true;
}

// MARK: - The callers of functions, found by the unwinder

static position position_in(struct _Unwind_Context *context) {
    // DWARF's number of rbp, or of x29.
#if defined(__x86_64__)
    enum { frame_pointer = 6 };
#else
    enum { frame_pointer = 29 };
#endif
    return (position){_Unwind_GetIP(context), _Unwind_GetCFA(context), _Unwind_GetGR(context, frame_pointer)};
}

typedef struct copy_search {
    const failure_artifacts_library *copy;
    bool was_found;
    position caller;
} copy_search;

// Finds the caller of a copy's sqlite3_step(), or of its sqlite3_exec() that has called it.
static _Unwind_Reason_Code visit_caller_of_copy(struct _Unwind_Context *context, void *argument) {
    copy_search *search = argument;
    const void *function = (const void *)_Unwind_GetRegionStart(context);
    if (function == (const void *)search->copy->step) {
        search->was_found = true;
    } else if (search->was_found && function != (const void *)search->copy->exec) {
        search->caller = position_in(context);
        return _URC_END_OF_STACK;
    }
    return _URC_NO_REASON;
}

// MARK: - Functions without a frame pointer

#if defined(__x86_64__)

// Reads a word of the stack. Returns 0 beyond its end.
READS_STACK static uintptr_t word(uintptr_t here, uint32_t offset) {
    return offset <= stack.end - here - sizeof(uintptr_t) ? *(const uintptr_t *)(here + offset) : 0;
}

// The way from a call in a function to that function's caller, if the function uses the frame pointer's register for
// something else: Debian's SQLite, most of its other libraries, and DispatchQueue.sync(execute:) do. Such a frame has a
// fixed size: a function that changes the size has a frame pointer. The unwinder takes thousands of instructions to
// find it.
typedef struct skip {
    // The return address of the call.
    uintptr_t address;
    // The distance between the stack pointers, in bytes; 0 for a function at the end of the stack, which has no caller.
    uint32_t size;
    // The places that may have the caller's register, as bits: 0 for the register itself, and n for the nth word from
    // the frame's end. A place can have the same value by chance. If the places have different values, another search
    // leaves fewer of them.
    uint32_t places;
} skip;

// Indexed by a hash of the address, with open addressing. At least one place is free.
static _Thread_local skip skips[maximum_skips];
static _Thread_local unsigned skip_count;
// The number of this thread's searches.
static _Thread_local unsigned skip_searches;

typedef struct return_search {
    position callee;
    bool was_found;
    position caller;
} return_search;

static _Unwind_Reason_Code visit_caller(struct _Unwind_Context *context, void *argument) {
    return_search *search = argument;
    if (search->was_found) {
        search->caller = position_in(context);
        return _URC_END_OF_STACK;
    }
    int is_interrupted = 0;
    uintptr_t address = _Unwind_GetIPInfo(context, &is_interrupted), stack_pointer = _Unwind_GetCFA(context);
    // A function that a signal interrupted has no call there, and the signal's frame has no fixed size.
    if (is_interrupted || stack_pointer > search->callee.stack_pointer) return _URC_END_OF_STACK;
    search->was_found = address == search->callee.address && stack_pointer == search->callee.stack_pointer;
    return _URC_NO_REASON;
}

// Finds the way out of the function with the unwinder. It has no places if the stack doesn't confirm it, or at the end.
READS_STACK static skip find_skip(position callee, position *caller, bool *is_end) {
    skip skip = {callee.address, 0, 0};
    return_search search = {.callee = callee};
    _Unwind_Backtrace(visit_caller, &search);
    *caller = search.caller;
    *is_end = search.was_found && !caller->address;
    if (caller->stack_pointer <= callee.stack_pointer || caller->stack_pointer > stack.end) return skip;
    uintptr_t size = caller->stack_pointer - callee.stack_pointer;
    if (size > UINT32_MAX || word(callee.stack_pointer, (uint32_t)size - sizeof size) != caller->address) return skip;
    skip.size = (uint32_t)size;
    if (caller->frame_pointer == callee.frame_pointer) skip.places |= 1;
    // The return address is the first word. The registers that a function has to keep are next to it; there are six.
    for (unsigned number = 2; number <= 7 && number * sizeof size <= size; number++) {
        uintptr_t saved = word(callee.stack_pointer, skip.size - number * (uint32_t)sizeof size);
        if (saved == caller->frame_pointer) skip.places |= 1u << number;
    }
    return skip;
}

// Reads the caller's register from its places. Returns false if they have several values, so that a search is needed.
READS_STACK static bool frame_pointer_is_certain(const skip *skip, const position *position, uintptr_t *frame_pointer) {
    bool is_first = true;
    for (uint32_t places = skip->places; places; places &= places - 1) {
        uint32_t place = (uint32_t)__builtin_ctz(places);
        uintptr_t value = place == 0 ? position->frame_pointer
                                     : word(position->stack_pointer, skip->size - place * (uint32_t)sizeof(uintptr_t));
        if (!is_first && value != *frame_pointer) return false;
        *frame_pointer = value;
        is_first = false;
    }
    return !is_first;
}

// Goes to the caller of a function without a frame pointer. Returns false if the caller is unknown.
READS_STACK static bool skip_function(position *position) {
    // Multiplicative hashing (Knuth 6.4).
    size_t index = (uint64_t)position->address * 0x9E3779B97F4A7C15u >> (64 - skip_bits);
    while (skips[index].address && skips[index].address != position->address) index = (index + 1) % maximum_skips;
    skip *skip = &skips[index];
    bool is_known = skip->address, is_end;
    if (!is_known && skip_count == maximum_skips - 1) return false;
    if (is_known && skip->size == 0) return false;
    if (is_known && skip->size > stack.end - position->stack_pointer) return false;
    uintptr_t frame_pointer;
    if (is_known && frame_pointer_is_certain(skip, position, &frame_pointer)) {
        position->address = word(position->stack_pointer, skip->size - (uint32_t)sizeof(uintptr_t));
        position->frame_pointer = frame_pointer;
        position->stack_pointer += skip->size;
        return position->address != 0;
    }
    if (skip_searches == maximum_searches) return false;
    skip_searches++;
    struct position caller;
    struct skip found = find_skip(*position, &caller, &is_end);
    uint32_t places = is_known && found.size == skip->size ? found.places & skip->places : found.places;
    if (!places && !(is_end && !is_known)) return false;
    // A signal handler may use these entries while this code changes one.
    skip->size = found.size;
    skip->places = places;
    atomic_signal_fence(memory_order_seq_cst);
    skip->address = found.address;
    if (!is_known) skip_count++;
    *position = caller;
    return position->address != 0;
}

// Goes from this package's or SQLite's code to its caller. SQLite may have any value in the frame pointer's register.
static bool leave_function(position *position) { return skip_function(position); }

#else

// On arm64, compilers give all functions that call others a frame pointer. If one was asked not to, the register has
// its caller's, so the walk leaves out that caller, and goes on behind it.
static bool skip_function(position *position) {
    (void)position;
    return false;
}

static bool leave_function(position *position) { return follow_frame_pointer(position); }

#endif

// MARK: - The walk

READS_STACK int failure_artifacts_stack(uintptr_t *addresses, int maximum, const failure_artifacts_library *copy) {
    if (!is_stack_known) {
        stack = find_stack();
        is_stack_known = true;
    }
    // A signal handler may run on another stack.
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here < stack.start || here >= stack.end || here - stack.start < least_left) return 0;
    position position = {0, here, here};
    if (!follow_frame_pointer(&position)) return 0;
    if (copy) {
        copy_search search = {.copy = copy};
        _Unwind_Backtrace(visit_caller_of_copy, &search);
        position = search.caller;
        if (position.stack_pointer < here || position.stack_pointer > stack.end) return 0;
    }
    bool was_inside = copy, is_caller = false;
    int count = 0;
    for (int frames = 0; position.address && count < maximum; frames++) {
        bool is_sqlite = !is_caller && is_inside(position.address, was_inside);
        is_caller = was_inside && !is_sqlite;
        was_inside |= is_sqlite;
        if (is_caller) addresses[count++] = position.address;
        else if (frames == maximum_inside) break;
        bool has_caller =
            is_caller ? follow_frame_pointer(&position) || skip_function(&position) : leave_function(&position);
        if (!has_caller) break;
    }
    return count;
}

#else

void failure_artifacts_stack_prepare(void) {}

int failure_artifacts_stack(uintptr_t *addresses, int maximum, const failure_artifacts_library *copy) {
    (void)addresses, (void)maximum, (void)copy;
    return 0;
}

#endif
