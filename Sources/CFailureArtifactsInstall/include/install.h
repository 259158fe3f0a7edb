#ifndef CFAILUREARTIFACTS_INSTALL_H
#define CFAILUREARTIFACTS_INSTALL_H

// Declares nothing: linking the module installs the adapters to XCTest and Swift Testing when the process starts.

#endif
