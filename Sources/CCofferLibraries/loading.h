// Loads a library and its used functions.
#pragma once
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/// The library of that name; NULL if it cannot be loaded, with the reason in `error`.
static inline void *coffer_library_open(const char *name, const char **error) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) *error = dlerror();
  return library;
}

/// For a list of names, each X(field, symbol): sets `table.field` to that function of `library`. If it is missing, the
/// enclosing function returns false, with its name in `error`.
#define COFFER_LOAD_FUNCTION(field, symbol) \
  if (!(*(void **)&table.field = dlsym(library, #symbol))) { \
    *error = dlerror(); \
    return false; \
  }

/// Defines `function`, which returns `table`, or NULL with the reason in `error`. Threads may call it concurrently: `fill`
/// writes the table under a lock, and never again after it returned true.
#define COFFER_LOADER(type, function) \
  const type *function(const char **error) { \
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; \
    static bool is_filled = false; \
    pthread_mutex_lock(&lock); \
    if (!is_filled) is_filled = fill(error); \
    const bool is_usable = is_filled; \
    pthread_mutex_unlock(&lock); \
    return is_usable ? &table : NULL; \
  }
