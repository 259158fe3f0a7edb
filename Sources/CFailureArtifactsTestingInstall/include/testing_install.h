#ifndef CFAILUREARTIFACTS_TESTING_INSTALL_H
#define CFAILUREARTIFACTS_TESTING_INSTALL_H

// Holds nothing: the module is linked for its constructor.

#endif
