#ifndef CFAILUREARTIFACTS_INSTALL_H
#define CFAILUREARTIFACTS_INSTALL_H

// Linking this module is all it takes: it calls failure_artifacts_install(), which the Swift module
// FailureArtifacts defines, when the process starts.

#endif
