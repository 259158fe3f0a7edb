#ifndef CFAILUREARTIFACTS_NAMES_H
#define CFAILUREARTIFACTS_NAMES_H

// Demangles the name of a function in Swift or C++, as Swift's backtraces do, such as `closure #1 in Ledger.split(_:)`.
// The caller frees the result. Returns NULL for another name, or if the runtime library can't demangle.
char *failure_artifacts_demangled(const char *name);

#endif
