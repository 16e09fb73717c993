// What AddressSanitizer is told in the processes that tests start: those are given an environment of their own, so that options
// in the environment would not reach them. Any other build has none of this.

#if defined(__has_feature)
#if __has_feature(address_sanitizer)

// Source: github.com/google/sanitizers/wiki/AddressSanitizerFlags, "Run-time flags".
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  // Leaks are looked for at the end of a process, which fails under a tracer and for a process that is killed; and Foundation's
  // error for what is no property list is always one.
  return "detect_leaks=0";
}

#endif
#endif
