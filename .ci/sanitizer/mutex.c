// Tells the thread sanitizer when a contended Mutex of Swift's Synchronization is taken and given back. Preloaded by
// .ci/thread-sanitizer; no part of Coffer.
//
// On Linux that Mutex is a priority-inheritance futex. Its uncontended path is compiled into whoever uses it, where the sanitizer
// sees two atomic exchanges and understands. Once threads meet, three functions of libswiftSynchronization spin and call the
// kernel. That library is not instrumented, so the sanitizer misses the order they make and reports whatever the mutex guards.
// These functions of the same names stand before them, call them, and say what they did.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

// Weak: also preloaded into programs without the sanitizer, which a test may start.
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

#define MUTEX __attribute__((swift_context)) void *mutex
typedef __attribute__((swiftcall)) void Lock(uint32_t thread, MUTEX);
typedef __attribute__((swiftcall)) bool TryLock(MUTEX);
typedef __attribute__((swiftcall)) void Unlock(MUTEX);

// _MutexHandle._lockSlow(_: UInt32), ._tryLockSlow() -> Bool and ._unlockSlow(): ABI, since clients have calls of them compiled in.
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
Lock lock __asm__(LOCK);
TryLock try_lock __asm__(TRY_LOCK);
Unlock unlock __asm__(UNLOCK);

static Lock *real_lock;
static TryLock *real_try_lock;
static Unlock *real_unlock;

__attribute__((constructor)) static void find_real_functions(void) {
  real_lock = (Lock *)dlsym(RTLD_NEXT, LOCK);
  real_try_lock = (TryLock *)dlsym(RTLD_NEXT, TRY_LOCK);
  real_unlock = (Unlock *)dlsym(RTLD_NEXT, UNLOCK);
  if (!__tsan_acquire || (real_lock && real_try_lock && real_unlock)) return;
  fprintf(stderr, "This Swift's Mutex has other functions than .ci/sanitizer/mutex.c stands before.\n");
  _exit(70);
}

__attribute__((swiftcall)) void lock(uint32_t thread, MUTEX) {
  real_lock(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

__attribute__((swiftcall)) bool try_lock(MUTEX) {
  bool is_locked = real_try_lock(mutex);
  if (is_locked && __tsan_acquire) __tsan_acquire(mutex);
  return is_locked;
}

__attribute__((swiftcall)) void unlock(MUTEX) {
  if (__tsan_release) __tsan_release(mutex);
  real_unlock(mutex);
}
