#include "libzip.h"

#include <dlfcn.h>
#include <stddef.h>

static coffer_libzip table;

#define NAMES(X) \
  X(open, zip_open) \
  X(name_locate, zip_name_locate) \
  X(fopen_index, zip_fopen_index) \
  X(fread, zip_fread) \
  X(fclose, zip_fclose) \
  X(discard, zip_discard)

const coffer_libzip *coffer_libzip_load(const char **error) {
  // 5 is 1.4 and newer as most systems number it, 4 the same as Debian 12 does.
  void *library = dlopen("libzip.so.5", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libzip.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    *error = dlerror();
    return NULL;
  }
#define LOAD(field, symbol) \
  if (!(*(void **)&table.field = dlsym(library, #symbol))) { \
    *error = dlerror(); \
    return NULL; \
  }
  NAMES(LOAD)
  return &table;
}
