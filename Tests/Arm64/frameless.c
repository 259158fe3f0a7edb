#include "harness.h"

// This file is compiled without frame pointers, unlike the package and Swift's code.
NOINLINE int without_frame_pointer(int value, sqlite3 *store) {
    sqlite3_exec(store, "INSERT INTO note VALUES ('frameless')", NULL, NULL, NULL); // line: frameless
    called_without_frame_pointer(); // line: frameless above
    return value + 1;
}
