#include "libcurl.h"

#include "loading.h"

static coffer_libcurl table;
static struct {
  int (*setopt)(void *handle, int option, ...);
  int (*getinfo)(void *handle, int info, ...);
} variadic;

#define NAMES(X) \
  X(global_init, curl_global_init) \
  X(easy_init, curl_easy_init) \
  X(easy_cleanup, curl_easy_cleanup) \
  X(easy_perform, curl_easy_perform) \
  X(easy_strerror, curl_easy_strerror) \
  X(slist_append, curl_slist_append) \
  X(slist_free_all, curl_slist_free_all)

#define VARIADIC(Y) \
  Y(setopt, curl_easy_setopt) \
  Y(getinfo, curl_easy_getinfo)

#define LOAD_VARIADIC(field, symbol) \
  if (!(*(void **)&variadic.field = dlsym(library, #symbol))) { \
    *error = dlerror(); \
    return false; \
  }

static bool fill(const char **error) {
  // The same functions over OpenSSL and over GnuTLS; a machine has either or both.
  void *library = coffer_library_open("libcurl.so.4", error);
  if (!library) library = coffer_library_open("libcurl-gnutls.so.4", error);
  if (!library) return false;
  NAMES(COFFER_LOAD_FUNCTION)
  VARIADIC(LOAD_VARIADIC)
  return true;
}

COFFER_LOADER(coffer_libcurl, coffer_libcurl_load)

int coffer_curl_set_number(void *handle, int option, long value) { return variadic.setopt(handle, option, value); }
int coffer_curl_set_text(void *handle, int option, const char *value) { return variadic.setopt(handle, option, value); }
int coffer_curl_set_pointer(void *handle, int option, const void *value) { return variadic.setopt(handle, option, value); }

int coffer_curl_set_write(void *handle, coffer_curl_write value, void *context) {
  int code = variadic.setopt(handle, COFFER_CURLOPT_WRITEFUNCTION, value);
  return code ? code : variadic.setopt(handle, COFFER_CURLOPT_WRITEDATA, context);
}

int coffer_curl_set_progress(void *handle, coffer_curl_progress value, void *context) {
  int code = variadic.setopt(handle, COFFER_CURLOPT_XFERINFOFUNCTION, value);
  if (!code) code = variadic.setopt(handle, COFFER_CURLOPT_XFERINFODATA, context);
  return code ? code : variadic.setopt(handle, COFFER_CURLOPT_NOPROGRESS, 0L);
}

int coffer_curl_get_number(void *handle, int info, long *value) { return variadic.getinfo(handle, info, value); }
