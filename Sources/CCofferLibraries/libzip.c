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
  // Most systems number 1.4 and newer 5; Debian 12 numbers the same 4.
  void *library = coffer_library_open("libzip.so.5", error);
  if (!library) library = coffer_library_open("libzip.so.4", error);
  if (!library) return false;
  NAMES(COFFER_LOAD_FUNCTION)
  return true;
}

COFFER_LOADER(coffer_libzip, coffer_libzip_load)
