// AddressSanitizer's options for processes that tests start: these have their own environment, so environment options would
// not reach them. Other builds have none of this.

#if defined(__has_feature)
#if __has_feature(address_sanitizer)

// Source: github.com/google/sanitizers/wiki/AddressSanitizerFlags, "Run-time flags".
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  // The search for leaks at exit fails under a tracer and for a killed process, and always reports Foundation's error for an
  // invalid property list.
  return "detect_leaks=0";
}

#endif
#endif
