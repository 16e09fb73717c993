#define _GNU_SOURCE
#include "CCofferPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <grp.h>
#include <pwd.h>
#include <sys/xattr.h>
#endif
#ifdef __APPLE__
#include <xlocale.h>
#endif
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
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

int coffer_rename_exchange(const char *one, const char *other) {
#ifdef __linux__
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
#else
  return renamex_np(one, other, RENAME_SWAP);
#endif
}

int coffer_refresh_attributes(const char *path) {
#ifdef __linux__
  struct statx facts;
  return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC, STATX_NLINK, &facts);
#else
  struct stat facts;
  return lstat(path, &facts);
#endif
}

bool coffer_has_private_group(const char *path, gid_t group) {
#ifdef __linux__
  // An entry is a line of text; a longer one counts as another member.
  enum { longest = 1 << 16 };
  char *user = malloc(2 * longest), *other = user + longest;
  struct passwd own, entry, *found = NULL;
  struct group record, *named = NULL;
  bool is_private = user != NULL && lgetxattr(path, "system.posix_acl_access", NULL, 0) <= 0
    && getpwuid_r(geteuid(), &own, user, longest, &found) == 0 && found != NULL && own.pw_gid == group
    && getgrgid_r(group, &record, other, longest, &named) == 0 && named != NULL && strcmp(record.gr_name, own.pw_name) == 0;
  for (char **member = is_private ? record.gr_mem : NULL; member != NULL && *member != NULL; member++) {
    if (strcmp(*member, own.pw_name) != 0) is_private = false;
  }
  FILE *users = is_private ? fopen("/etc/passwd", "re") : NULL;
  int code = users == NULL ? EACCES : 0;
  while (code == 0 && (code = fgetpwent_r(users, &entry, other, longest, &found)) == 0) {
    if (entry.pw_gid == group && entry.pw_uid != own.pw_uid) code = EPERM;
  }
  if (users != NULL) fclose(users);
  free(user);
  return is_private && code == ENOENT;
#else
  return false;
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

static size_t secret_pages(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (size + page) / page * page;  // One byte more, for the mark.
}

void *coffer_map_secret(size_t size, bool *locked) {
  size_t whole = secret_pages(size);
  unsigned char *base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  coffer_exclude_from_core(base, whole);
  coffer_wipe_on_fork(base, whole);
  *locked = mlock(base, whole) == 0;
  base[whole - 1] = 1;
  return base;
}

void coffer_unmap_secret(void *base, size_t size) {
  size_t whole = secret_pages(size);
#ifdef __APPLE__
  memset_s(base, whole, 0, whole);
#else
  explicit_bzero(base, whole);
#endif
  munmap(base, whole);
}

bool coffer_secret_is_intact(const void *base, size_t size) {
  return ((const unsigned char *)base)[secret_pages(size) - 1] == 1;
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

// With AT_EMPTY_PATH only a process that may read every file could name it: open(2), O_TMPFILE.
struct self_link { char path[sizeof "/proc/self/fd/" + 3 * sizeof(int)]; };
static struct self_link self_link(int fd) {
  struct self_link link;
  snprintf(link.path, sizeof link.path, "/proc/self/fd/%d", fd);
  return link;
}

int coffer_open_unnamed(const char *folder, unsigned mode) {
#ifdef O_TMPFILE
  int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, (mode_t)mode);
  if (fd < 0 || access(self_link(fd).path, F_OK) == 0) return fd;
  close(fd);
  errno = ENOTSUP;
  return -1;
#else
  (void)folder, (void)mode;
  errno = ENOTSUP;
  return -1;
#endif
}

int coffer_name(int fd, const char *path) {
  return linkat(AT_FDCWD, self_link(fd).path, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static int local_address(const char *path, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address->sun_path, path);
  return 0;
}

static int local_socket(void) {
#ifdef __linux__
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  int on = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
  return fd;
#endif
}

static int closed(int fd) {
  int code = errno;
  close(fd);
  errno = code;
  return -1;
}

int coffer_local_connect(const char *path, int patience) {
  struct sockaddr_un address;
  if (local_address(path, &address) != 0) return -1;
  int fd = local_socket();
  if (fd < 0) return -1;
  struct timeval limit = {.tv_sec = patience / 1000, .tv_usec = patience % 1000 * 1000};
  if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) return closed(fd);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) return closed(fd);
  return fd;
}

int coffer_local_listen(const char *path, int backlog) {
  struct sockaddr_un address;
  if (local_address(path, &address) != 0) return -1;
  int fd = local_socket();
  if (fd < 0) return -1;
  if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) return closed(fd);
  if (listen(fd, backlog) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return closed(fd);
  return fd;
}

int coffer_loopback_listen(unsigned short *port) {
#ifdef __linux__
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
  if (fd < 0) return -1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(fd, (struct sockaddr *)&address, size) != 0) return closed(fd);
  if (listen(fd, 8) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return closed(fd);
  if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) return closed(fd);
  *port = ntohs(address.sin_port);
  return fd;
}

int coffer_accept(int fd) {
#ifdef __linux__
  return accept4(fd, NULL, NULL, SOCK_CLOEXEC);
#else
  int peer = accept(fd, NULL, NULL);
  if (peer >= 0) fcntl(peer, F_SETFD, FD_CLOEXEC), fcntl(peer, F_SETFL, 0);
  return peer;
#endif
}

long coffer_write_at_once(int fd, const void *bytes, size_t count) {
  if (count > 4096) return errno = EMSGSIZE, -1;
#ifdef __linux__
  ssize_t sent = send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  // Checked first: a write to another kind of file may wait for its server. write(2) has no such flag for pipes before Linux
  // 6.4.
  int own[2];
  if (fcntl(fd, F_GETPIPE_SZ) < 0 || pipe2(own, O_CLOEXEC) != 0) return -1;
  // A pipe whose reader has gone raises a signal, which must not end the program.
  sigset_t closed_pipe, before;
  sigemptyset(&closed_pipe);
  sigaddset(&closed_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &closed_pipe, &before);
  ssize_t written = write(own[1], bytes, count);
  if (written > 0) written = splice(own[0], NULL, fd, NULL, (size_t)written, SPLICE_F_NONBLOCK);
  int code = errno;
  if (written < 0 && code == EPIPE) sigtimedwait(&closed_pipe, NULL, &(struct timespec){0});
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(own[0]);
  close(own[1]);
  errno = code;
  return written;
#else
  return errno = ENOTSUP, -1;
#endif
}

int coffer_peer_user(int fd, unsigned *user) {
#ifdef __linux__
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  *user = peer.uid;
#else
  uid_t owner;
  gid_t group;
  if (getpeereid(fd, &owner, &group) != 0) return -1;
  *user = owner;
#endif
  return 0;
}

int coffer_peer_process(int fd) {
#ifdef __linux__
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : -1;
#elif defined(LOCAL_PEERPID)
  pid_t process;
  socklen_t size = sizeof process;
  return getsockopt(fd, SOL_LOCAL, LOCAL_PEERPID, &process, &size) == 0 ? process : -1;
#else
  return 0;
#endif
}

ssize_t coffer_send(int fd, const void *bytes, size_t count) {
#ifdef MSG_NOSIGNAL
  return send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
#else
  return send(fd, bytes, count, MSG_DONTWAIT);
#endif
}

void coffer_close_from(int first) {
#if defined(__linux__) && defined(SYS_close_range)
  if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0) return;
#endif
  // Kernels before 5.9: the soft limit is often 1024, and no descriptor is above it by accident.
  struct rlimit limit;
  int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
  for (int fd = first; fd < end; fd++) close(fd);
}

int coffer_spawn_new_session(void) { return POSIX_SPAWN_SETSID; }

static int64_t time_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#ifdef __linux__
int64_t coffer_time_since_boot(void) { return time_of(CLOCK_BOOTTIME); }
int64_t coffer_time_awake(void) { return time_of(CLOCK_MONOTONIC); }
#else
int64_t coffer_time_since_boot(void) { return time_of(CLOCK_MONOTONIC); }
int64_t coffer_time_awake(void) { return time_of(CLOCK_UPTIME_RAW); }
#endif

static pid_t loading_process;
__attribute__((constructor)) static void note_loading_process(void) { loading_process = getpid(); }
bool coffer_is_forked_child(void) { return getpid() != loading_process; }

_Thread_local uint64_t coffer_transaction_mark;
_Thread_local bool coffer_closure_mark;
_Thread_local void *coffer_attempt_mark;
_Thread_local void *coffer_call_mark;

_Thread_local uint32_t coffer_thread_mark;
uint32_t coffer_number_thread(void) {
  static _Atomic uint32_t last;
  return coffer_thread_mark = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

size_t coffer_print_real(double number, uint8_t *text, size_t size) {
  char printed[64];
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  locale_t before = plain ? uselocale(plain) : (locale_t)0;
  int count = snprintf(printed, sizeof printed, "%.17g", number);
  if (plain) {
    uselocale(before);
    freelocale(plain);
  }
  size_t bytes = count < 0 ? 0 : (size_t)count < size ? (size_t)count : size;
  memcpy(text, printed, bytes);
  return bytes;
}

struct coffer_thread {
  void (*body)(void *);
  void *work;
};

static void *coffer_begin_thread(void *start) {
  struct coffer_thread thread = *(struct coffer_thread *)start;
  free(start);
  thread.body(thread.work);
  return NULL;
}

int coffer_detached_thread(size_t stack, void (*body)(void *), void *work) {
  struct coffer_thread *start = malloc(sizeof *start);
  if (!start) return ENOMEM;
  start->body = body;
  start->work = work;
  pthread_attr_t attributes;
  int code = pthread_attr_init(&attributes);
  if (code == 0) {
    pthread_t thread;
    code = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (code == 0) code = pthread_attr_setstacksize(&attributes, stack);
    if (code == 0) code = pthread_create(&thread, &attributes, coffer_begin_thread, start);
    pthread_attr_destroy(&attributes);
  }
  if (code != 0) free(start);
  return code;
}
