#define _GNU_SOURCE
#include "CCofferPlatform.h"

#include <errno.h>
#include <fcntl.h>
<<<<<<< HEAD
#include <signal.h>
=======
#include <stdatomic.h>
>>>>>>> main
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/signalfd.h>
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

<<<<<<< HEAD
static _Thread_local bool inside_closure;
bool coffer_inside_closure(void) { return inside_closure; }
void coffer_set_inside_closure(bool inside) { inside_closure = inside; }

int coffer_memory_file(const char *name) {
#ifdef __linux__
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd >= 0 && fchmod(fd, 0400) != 0) {
    close(fd);
    return -1;
  }
  return fd;
#else
  (void)name;
  errno = ENOSYS;
  return -1;
#endif
}

int coffer_seal_memory_file(int fd) {
#ifdef __linux__
  return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
#else
  (void)fd;
  errno = ENOSYS;
  return -1;
#endif
}

int coffer_signal_descriptor(const void *signals) {
#ifdef __linux__
  return signalfd(-1, (const sigset_t *)signals, SFD_CLOEXEC | SFD_NONBLOCK);
#else
  (void)signals;
  errno = ENOSYS;
  return -1;
#endif
}

int coffer_next_signal(int fd, bool *from_kernel) {
#ifdef __linux__
  struct signalfd_siginfo info;
  ssize_t got;
  do got = read(fd, &info, sizeof info);
  while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN ? 0 : -1;
  *from_kernel = info.ssi_code > 0;
  return (int)info.ssi_signo;
#else
  (void)fd, (void)from_kernel;
  errno = ENOSYS;
  return -1;
#endif
}

extern char **environ;
char **coffer_environment(void) { return environ; }
=======
_Thread_local bool coffer_closure_mark;

_Thread_local uint32_t coffer_thread_mark;
uint32_t coffer_number_thread(void) {
  static _Atomic uint32_t last;
  return coffer_thread_mark = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}
>>>>>>> main
