#ifndef CSUITECALLBACKS_H
#define CSUITECALLBACKS_H

// Calls a function with a context, as a C library would.
void suite_call(void (*function)(void *context), void *context);

// Replaces a connection's trace with one that does nothing, as code in another image does.
void suite_replace_trace(void *connection);

// Runs SQL on a connection. Returns SQLite's result code.
int suite_run(void *connection, const char *sql);

// Runs SQL on a connection for each row of a query: a C function runs it in the query's callback. Returns SQLite's result
// code.
int suite_run_for_each_row(void *connection, const char *query, const char *sql);

#endif
