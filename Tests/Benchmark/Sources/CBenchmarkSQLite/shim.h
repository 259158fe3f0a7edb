#ifndef CBENCHMARKSQLITE_SHIM_H
#define CBENCHMARKSQLITE_SHIM_H

#include <sqlite3.h>

#endif
