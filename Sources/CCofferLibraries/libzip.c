#include "libzip.h"

#include "loading.h"

static coffer_libzip table;

#define NAMES(X) \
  X(open, zip_open) \
  X(name_locate, zip_name_locate) \
  X(fopen_index, zip_fopen_index) \
  X(fread, zip_fread) \
  X(fclose, zip_fclose) \
  X(discard, zip_discard)

static bool fill(const char **error) {
  // 5 is 1.4 and newer as most systems number it, 4 the same as Debian 12 does.
  void *library = coffer_library_open("libzip.so.5", error);
  if (!library) library = coffer_library_open("libzip.so.4", error);
  if (!library) return false;
  NAMES(COFFER_LOAD_FUNCTION)
  return true;
}

COFFER_LOADER(coffer_libzip, coffer_libzip_load)
