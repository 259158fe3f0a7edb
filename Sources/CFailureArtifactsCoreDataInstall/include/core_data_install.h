#ifndef CFAILUREARTIFACTS_CORE_DATA_INSTALL_H
#define CFAILUREARTIFACTS_CORE_DATA_INSTALL_H

// Declares nothing: linking the module starts to observe Core Data when the process starts.

#endif
