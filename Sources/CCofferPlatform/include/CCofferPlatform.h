#ifndef COFFER_PLATFORM_H
#define COFFER_PLATFORM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// System calls that Swift's Glibc overlay does not import (they need _GNU_SOURCE, are variadic, or are macros).
// Each returns -1 and leaves errno set on failure.

/// rename without replacing: EEXIST when `to` is there. Linux renameat2(RENAME_NOREPLACE), macOS renamex_np.
int coffer_rename_noreplace(const char *from, const char *to);

/// Memory at [p, p+n), page aligned, reads as zeros in a forked child. Returns -1 where the kernel cannot (before Linux 4.14).
int coffer_wipe_on_fork(void *p, size_t n);

/// Keeps [p, p+n) out of core dumps.
int coffer_exclude_from_core(void *p, size_t n);

/// No core dump (RLIMIT_CORE 0, not dumpable): /proc/PID/mem and ptrace are then closed to other processes of this user.
int coffer_forbid_core_dumps(void);

/// Forbids gaining privileges by execve (Linux PR_SET_NO_NEW_PRIVS).
int coffer_forbid_new_privileges(void);

/// Descriptor-owned record lock on the whole file (F_OFD_SETLK): `exclusive` or shared; never blocks, EAGAIN when held.
int coffer_ofd_lock(int fd, bool exclusive);
int coffer_ofd_unlock(int fd);

/// The magic number of the file system behind `fd` (statfs f_type), or -1.
int64_t coffer_filesystem_type(int fd);

/// open(2) with a mode, which is variadic in C.
int coffer_open(const char *path, int flags, unsigned mode);
int coffer_openat(int dir, const char *path, int flags, unsigned mode);

/// Whether this process was forked from the one that loaded the program, without an exec(2) since.
bool coffer_is_forked_child(void);

/// This thread's mark that it is inside an `update` or `transaction` closure: see Reentrancy.swift. Asked by every read.
extern _Thread_local bool coffer_closure_mark;
static inline bool coffer_inside_closure(void) { return coffer_closure_mark; }
static inline void coffer_set_inside_closure(bool inside) { coffer_closure_mark = inside; }

/// A number of this thread, from 1: consecutive ones for threads that ask for the first time one after the other.
extern _Thread_local uint32_t coffer_thread_mark;
uint32_t coffer_number_thread(void);
static inline uint32_t coffer_thread_number(void) {
  uint32_t number = coffer_thread_mark;
  return number ? number : coffer_number_thread();
}

#endif
