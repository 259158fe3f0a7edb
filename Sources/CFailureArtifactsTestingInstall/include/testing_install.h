#ifndef CFAILUREARTIFACTS_TESTING_INSTALL_H
#define CFAILUREARTIFACTS_TESTING_INSTALL_H

// Declares nothing: linking the module starts discovery when the process starts.

#endif
