#ifndef CCULPRITSSQLITE_SHIM_H
#define CCULPRITSSQLITE_SHIM_H

#include <sqlite3.h>

#endif
