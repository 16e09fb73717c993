#include "libqrencode.h"

#include "loading.h"

static coffer_libqrencode table;

#define NAMES(X) \
  X(encode, QRcode_encodeData) \
  X(free, QRcode_free)

static bool fill(const char **error) {
  void *library = coffer_library_open("libqrencode.so.4", error);
  if (!library) return false;
  NAMES(COFFER_LOAD_FUNCTION)
  return true;
}

COFFER_LOADER(coffer_libqrencode, coffer_libqrencode_load)
