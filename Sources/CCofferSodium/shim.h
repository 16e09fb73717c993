// libsodium as installed by the system (1.0.18 or newer). No shim is needed: all of its API imports.
#include <sodium.h>
