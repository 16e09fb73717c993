#include "libz.h"

#include "loading.h"

static coffer_libz table;

#define NAMES(X) \
  X(begin, inflateInit2_) \
  X(inflate, inflate) \
  X(end, inflateEnd)

static bool fill(const char **error) {
  void *library = coffer_library_open("libz.so.1", error);
  if (!library) return false;
  NAMES(COFFER_LOAD_FUNCTION)
  return true;
}

COFFER_LOADER(coffer_libz, coffer_libz_load)
