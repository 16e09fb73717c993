#define _GNU_SOURCE
#include "CCofferPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/signalfd.h>
#endif

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
  while (got < 0 ? errno == EINTR : info.ssi_code == SI_USER && info.ssi_pid == (uint32_t)getpid());
  if (got < 0) return errno == EAGAIN ? 0 : -1;
  *from_kernel = info.ssi_code > 0;
  return (int)info.ssi_signo;
#else
  (void)fd, (void)from_kernel;
  errno = ENOSYS;
  return -1;
#endif
}

static int argument_count;
static char **first_argument;
#if defined(__GLIBC__) || defined(__APPLE__)
// glibc and macOS pass the arguments of main() to constructors too.
__attribute__((constructor)) static void note_arguments(int count, char **arguments) {
  argument_count = count;
  first_argument = arguments;
}
#endif
int coffer_argument_count(void) { return argument_count; }
char **coffer_arguments(void) { return first_argument; }

extern char **environ;
char **coffer_environment(void) { return environ; }

static uint64_t limit_of(int resource) {
  struct rlimit limit;
  return getrlimit(resource, &limit) == 0 ? (uint64_t)limit.rlim_cur : 0;
}
uint64_t coffer_lock_limit(void) { return limit_of(RLIMIT_MEMLOCK); }
uint64_t coffer_core_limit(void) { return limit_of(RLIMIT_CORE); }
