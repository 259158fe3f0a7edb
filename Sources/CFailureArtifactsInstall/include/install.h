#ifndef CFAILUREARTIFACTS_INSTALL_H
#define CFAILUREARTIFACTS_INSTALL_H

// Declares nothing: linking the module installs the observer when the process starts.

#endif
