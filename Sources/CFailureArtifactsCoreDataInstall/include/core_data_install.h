#ifndef CFAILUREARTIFACTS_CORE_DATA_INSTALL_H
#define CFAILUREARTIFACTS_CORE_DATA_INSTALL_H

// Nothing to call: linking it is all.

#endif
