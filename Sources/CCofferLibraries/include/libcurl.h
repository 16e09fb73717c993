// The used parts of libcurl 7.62 and newer, documented at curl.se/libcurl/c. Each function with varargs has one function here
// for each argument type: on some machines a call through a pointer without varargs passes the argument elsewhere.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct coffer_curl_list;

typedef struct {
  int (*_Nonnull global_init)(long flags);
  void *_Nullable (*_Nonnull easy_init)(void);
  void (*_Nonnull easy_cleanup)(void *_Nonnull handle);
  int (*_Nonnull easy_perform)(void *_Nonnull handle);
  const char *_Nonnull (*_Nonnull easy_strerror)(int code);
  struct coffer_curl_list *_Nullable (*_Nonnull slist_append)(struct coffer_curl_list *_Nullable list, const char *_Nonnull text);
  void (*_Nonnull slist_free_all)(struct coffer_curl_list *_Nullable list);
} coffer_libcurl;

/// Receives each piece of an answer; returning fewer bytes than it got ends the transfer.
typedef size_t (*coffer_curl_write)(const char *_Nonnull bytes, size_t size, size_t count, void *_Nullable context);
/// Called now and then during a transfer; anything but 0 ends it.
typedef int (*coffer_curl_progress)(void *_Nullable context, int64_t total, int64_t now, int64_t total_up, int64_t now_up);

int coffer_curl_set_number(void *_Nonnull handle, int option, long value);
int coffer_curl_set_text(void *_Nonnull handle, int option, const char *_Nullable value);
int coffer_curl_set_pointer(void *_Nonnull handle, int option, const void *_Nullable value);
int coffer_curl_set_write(void *_Nonnull handle, coffer_curl_write _Nonnull value, void *_Nullable context);
int coffer_curl_set_progress(void *_Nonnull handle, coffer_curl_progress _Nonnull value, void *_Nullable context);
int coffer_curl_get_number(void *_Nonnull handle, int info, long *_Nonnull value);

/// Names of curl.h.
enum {
  COFFER_CURL_GLOBAL_DEFAULT = 3,
  COFFER_CURLOPT_WRITEDATA = 10001,
  COFFER_CURLOPT_URL = 10002,
  COFFER_CURLOPT_POSTFIELDS = 10015,
  COFFER_CURLOPT_USERAGENT = 10018,
  COFFER_CURLOPT_HTTPHEADER = 10023,
  COFFER_CURLOPT_CAINFO = 10065,
  COFFER_CURLOPT_NOPROGRESS = 43,
  COFFER_CURLOPT_FOLLOWLOCATION = 52,
  COFFER_CURLOPT_XFERINFODATA = 10057,
  COFFER_CURLOPT_POSTFIELDSIZE = 60,
  COFFER_CURLOPT_NOSIGNAL = 99,
  COFFER_CURLOPT_TIMEOUT_MS = 155,
  COFFER_CURLOPT_CONNECTTIMEOUT_MS = 156,
  COFFER_CURLOPT_PROTOCOLS = 181,
  COFFER_CURLOPT_NOPROXY = 10177,
  COFFER_CURLOPT_WRITEFUNCTION = 20011,
  COFFER_CURLOPT_XFERINFOFUNCTION = 20219,
  COFFER_CURLPROTO_HTTP = 1,
  COFFER_CURLPROTO_HTTPS = 2,
  COFFER_CURLINFO_RESPONSE_CODE = 0x200002,
  COFFER_CURLE_WRITE_ERROR = 23,
  COFFER_CURLE_OPERATION_TIMEDOUT = 28,
  COFFER_CURLE_ABORTED_BY_CALLBACK = 42,
  COFFER_CURLE_PEER_FAILED_VERIFICATION = 60,
  COFFER_CURLE_SSL_CACERT_BADFILE = 77,
};

/// The library; NULL if it is not installed, with the reason in `error`.
const coffer_libcurl *_Nullable coffer_libcurl_load(const char *_Nullable *_Nonnull error);
