// Loading a library and the functions that are used of it.
#pragma once
#include <dlfcn.h>
#include <stddef.h>

/// The library of that name; NULL where it cannot be loaded, and `error` then says why.
static inline void *coffer_library_open(const char *name, const char **error) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) *error = dlerror();
  return library;
}

/// For a list of names, each X(field, symbol): sets `table.field` to that function of `library`. Where it has none, the function that this
/// stands in returns NULL, and `error` then says which.
#define COFFER_LOAD_FUNCTION(field, symbol) \
  if (!(*(void **)&table.field = dlsym(library, #symbol))) { \
    *error = dlerror(); \
    return NULL; \
  }
