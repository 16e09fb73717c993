#define _GNU_SOURCE
#include "CCofferPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

int coffer_rename_noreplace(const char *from, const char *to) {
#ifdef __linux__
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
#else
  return renamex_np(from, to, RENAME_EXCL);
#endif
}

int coffer_wipe_on_fork(void *p, size_t n) {
#ifdef MADV_WIPEONFORK
  return madvise(p, n, MADV_WIPEONFORK);
#else
  (void)p, (void)n;
  errno = ENOSYS;
  return -1;
#endif
}

int coffer_exclude_from_core(void *p, size_t n) {
#ifdef MADV_DONTDUMP
  return madvise(p, n, MADV_DONTDUMP);
#else
  (void)p, (void)n;
  errno = ENOSYS;
  return -1;
#endif
}

int coffer_forbid_core_dumps(void) {
  struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return -1;
#ifdef __linux__
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return -1;
#endif
  return 0;
}

int coffer_forbid_new_privileges(void) {
#ifdef __linux__
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#else
  return 0;
#endif
}

static int whole_file_lock(int fd, short type) {
  struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
#ifdef F_OFD_SETLK
  return fcntl(fd, F_OFD_SETLK, &l);
#else
  return flock(fd, type == F_UNLCK ? LOCK_UN : (type == F_WRLCK ? LOCK_EX : LOCK_SH) | LOCK_NB);
#endif
}

int coffer_ofd_lock(int fd, bool exclusive) { return whole_file_lock(fd, exclusive ? F_WRLCK : F_RDLCK); }
int coffer_ofd_unlock(int fd) { return whole_file_lock(fd, F_UNLCK); }

int64_t coffer_filesystem_type(int fd) {
  struct statfs s;
  return fstatfs(fd, &s) == 0 ? (int64_t)s.f_type : -1;
}

int coffer_open(const char *path, int flags, unsigned mode) { return open(path, flags, (mode_t)mode); }
int coffer_openat(int dir, const char *path, int flags, unsigned mode) { return openat(dir, path, flags, (mode_t)mode); }

static pid_t loading_process;
__attribute__((constructor)) static void note_loading_process(void) { loading_process = getpid(); }
bool coffer_is_forked_child(void) { return getpid() != loading_process; }

_Thread_local bool coffer_closure_mark;

_Thread_local uint32_t coffer_thread_mark;
uint32_t coffer_number_thread(void) {
  static _Atomic uint32_t last;
  return coffer_thread_mark = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}
