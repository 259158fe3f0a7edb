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
    // The maximum number of SQLite's own frames.
    maximum_inside = 32,
    // The maximum number of calls in a layout, and the layouts that each thread remembers.
    maximum_calls = 14,
    known_layouts = 4,
    // The functions without a frame pointer that each thread remembers, and its searches for them. The walk ends at others.
    maximum_skips = 64,
    maximum_searches = 256,
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

static bool is_in_library(uintptr_t address) {
    return (address >= library_start && address < library_end) || is_taken(address);
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

static position position_in(struct _Unwind_Context *context) {
    // DWARF's number of the register: rbp on x86-64, x29 on arm64.
#if defined(__x86_64__)
    enum { frame_pointer = 6 };
#else
    enum { frame_pointer = 29 };
#endif
    return (position){_Unwind_GetIP(context), _Unwind_GetCFA(context), _Unwind_GetGR(context, frame_pointer)};
}

// A return address on the stack.
typedef struct call {
    uintptr_t place;
    uintptr_t address;
} call;

typedef struct search {
    bool was_inside;
    int frames;
    // The calls up to the first frame outside SQLite, and that frame.
    call calls[maximum_inside];
    position caller;
} search;

// Debian's SQLite is built without frame pointers, so the unwinder has to find the way out of it.
static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument) {
    search *search = argument;
    if (search->frames == maximum_inside) return _URC_END_OF_STACK;
    position position = position_in(context);
    uintptr_t address = position.address;
    // On x86-64, a call leaves the return address below the caller's part of the stack.
    search->calls[search->frames++] = (call){position.stack_pointer - sizeof address, address};
    bool is_inside = library_end ? is_in_library(address)
                                 : is_taken(address)
            || (!search->was_inside && _Unwind_FindEnclosingFunction((void *)(address - 1)) == (void *)sqlite3_step);
    if (is_inside) search->was_inside = true;
    if (is_inside || !search->was_inside) return _URC_NO_REASON;
    search->caller = position;
    return _URC_END_OF_STACK;
}

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

// MARK: - Layouts

// The layout of the stack between failure_artifacts_stack() and SQLite's caller. It is the same whenever the same calls
// lead there, because their frames have fixed sizes. The unwinder takes about 13,000 instructions to find it. All offsets
// are from the frame of failure_artifacts_stack(), in bytes.
typedef struct layout {
    // The number of calls; 0 if the layout is not complete.
    unsigned count;
    // The offset of the caller's frame pointer, which one of the functions has saved.
    uint32_t frame_pointer;
    // The return addresses; the last one, to SQLite's caller, may differ.
    struct {
        uint32_t offset;
        uintptr_t address;
    } calls[maximum_calls];
} layout;

static _Thread_local layout layouts[known_layouts];
static _Thread_local unsigned next_layout;

// Reads a word of the stack. Returns 0 beyond its end: a signal handler may interrupt the writing of a layout.
READS_STACK static uintptr_t word(uintptr_t here, uint32_t offset) {
    return offset <= stack.end - here - sizeof(uintptr_t) ? *(const uintptr_t *)(here + offset) : 0;
}

// Finds SQLite's caller, if this is the layout of the stack.
READS_STACK static bool follow(const layout *layout, uintptr_t here, position *found) {
    if (layout->count == 0) return false;
    unsigned last = layout->count - 1;
    for (unsigned index = 0; index < last; index++) {
        if (word(here, layout->calls[index].offset) != layout->calls[index].address) return false;
    }
    found->address = word(here, layout->calls[last].offset);
    found->stack_pointer = here + layout->calls[last].offset + sizeof(uintptr_t);
    found->frame_pointer = word(here, layout->frame_pointer);
    // Otherwise more of SQLite's functions follow: sqlite3_exec() calls sqlite3_step() too.
    return !is_in_library(found->address);
}

// Remembers the layout that the unwinder found, if the stack confirms it. That is never so on arm64, where functions save
// return addresses in other places.
READS_STACK static void learn(uintptr_t here, const search *found) {
    layout *new = &layouts[next_layout++ % known_layouts];
    new->count = 0;
    atomic_signal_fence(memory_order_seq_cst);
    unsigned count = 0;
    for (const call *call = found->calls; call < found->calls + found->frames; call++) {
        if (call->place < here) continue;
        uintptr_t offset = call->place - here;
        if (count == maximum_calls || offset > UINT32_MAX || word(here, (uint32_t)offset) != call->address) return;
        new->calls[count].offset = (uint32_t)offset;
        new->calls[count++].address = call->address;
    }
    if (count == 0) return;
    // A frame pointer of SQLite's caller is above SQLite's frames. The first function that changes the register has saved
    // it next to the return address.
    uint32_t end = new->calls[count - 1].offset, offset = end;
    if (found->caller.frame_pointer <= here + end) return;
    do {
        if (offset == 0) return;
        offset -= sizeof(uintptr_t);
    } while (word(here, offset) != found->caller.frame_pointer);
    new->frame_pointer = offset;
    atomic_signal_fence(memory_order_seq_cst);
    new->count = count;
}

// Finds the first frame outside SQLite.
static position find_caller(uintptr_t here) {
    position caller;
    for (unsigned index = 0; index < known_layouts; index++) {
        if (follow(&layouts[index], here, &caller)) return caller;
    }
    search found;
    found.was_inside = false;
    found.frames = 0;
    found.caller.address = 0;
    _Unwind_Backtrace(visit, &found);
    if (found.caller.address) learn(here, &found);
    return found.caller;
}

// MARK: - Functions without a frame pointer

#if defined(__x86_64__)

// The way from a call in a function to that function's caller, if the function uses the frame pointer's register for
// something else. DispatchQueue.sync(execute:) and most of Debian's libraries do. Such a frame has a fixed size: a function
// that changes the size has a frame pointer.
typedef struct skip {
    // The return address of the call.
    uintptr_t address;
    // The distance between the stack pointers, in bytes; 0 for a function at the end of the stack, which has no caller.
    uint32_t size;
    // The places that may have the caller's register, as bits: 0 for the register itself, and n for the nth word from the
    // frame's end. A place can have the same value by chance. If the places have different values, another search leaves
    // fewer of them.
    uint32_t places;
} skip;

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
    unsigned index = 0;
    while (index < skip_count && skips[index].address != position->address) index++;
    if (index == maximum_skips) return false;
    skip *skip = &skips[index];
    bool is_known = index < skip_count, is_end;
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
    skip->address = found.address;
    skip->size = found.size;
    skip->places = places;
    atomic_signal_fence(memory_order_seq_cst);
    if (!is_known) skip_count = index + 1;
    *position = caller;
    return position->address != 0;
}

#else

// On arm64, compilers give all functions that call others a frame pointer. If one was asked not to, the register has its
// caller's, so the walk leaves out that caller, and goes on behind it.
static bool skip_function(position *position) {
    (void)position;
    return false;
}

#endif

// MARK: - The walk

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

READS_STACK int failure_artifacts_stack(uintptr_t *addresses, int maximum) {
    if (!is_stack_known) {
        stack = find_stack();
        is_stack_known = true;
    }
    // A signal handler may run on another stack.
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here < stack.start || here >= stack.end || here - stack.start < least_left) return 0;
    position position = find_caller(here);
    int count = 0;
    while (position.address && count < maximum) {
        addresses[count++] = position.address;
        uintptr_t frame = position.frame_pointer;
        if (frame < position.stack_pointer || frame > stack.end - 2 * sizeof frame || frame % sizeof frame != 0) {
            if (!skip_function(&position)) break;
            continue;
        }
        // Each frame starts with the caller's frame pointer, followed by the return address.
        const uintptr_t *words = (const uintptr_t *)frame;
        position.address = without_signature(words[1]);
        position.stack_pointer = frame + 2 * sizeof frame;
        // Swift marks the frames of async functions with this bit.
        position.frame_pointer = words[0] & ~((uintptr_t)1 << 60);
    }
    return count;
}

#else

void failure_artifacts_stack_prepare(void) {}

int failure_artifacts_stack(uintptr_t *addresses, int maximum) {
    (void)addresses, (void)maximum;
    return 0;
}

#endif
