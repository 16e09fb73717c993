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

/// Exchanges what two names stand for. EINVAL or ENOSYS where the file system cannot. Linux RENAME_EXCHANGE, macOS RENAME_SWAP.
int coffer_rename_exchange(const char *one, const char *other);

/// Asks the file system anew what it says of `path`, where it is one that lets the kernel remember that for a while (FUSE, NFS).
int coffer_refresh_attributes(const char *path);

/// Memory at [p, p+n), page aligned, reads as zeros in a forked child. Returns -1 where the kernel cannot (before Linux 4.14).
int coffer_wipe_on_fork(void *p, size_t n);

/// Maps `size` bytes of `fd`, shared, to read and, where `writable`, to write; NULL with errno. Where another program cuts the file short, an
/// access behind its end ends no process: it replaces the whole mapping by zeros of this process alone, to which stores go too. That is done by a
/// handler of SIGBUS, from the first call on, which hands every other SIGBUS on to the handler before it.
void *coffer_map_file(int fd, size_t size, bool writable);
void coffer_unmap_file(void *base, size_t size);

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

/// A new file in `folder` that has no name, opened to be written, and gone with its last descriptor unless it is given one. Linux
/// O_TMPFILE; ENOTSUP elsewhere and without /proc, by which it can be named, EOPNOTSUPP on a file system without such files.
int coffer_open_unnamed(const char *folder, unsigned mode);
/// Gives such a file the name `path`, where nothing may stand.
int coffer_name(int fd, const char *path);

/// A stream socket of this machine, close-on-exec, connected to the one that listens at `path`. Waits at most `patience` milliseconds
/// for room in the listener's queue: EAGAIN then. ENAMETOOLONG where the path does not fit the address.
int coffer_local_connect(const char *path, int patience);

/// A stream socket of this machine, close-on-exec and non-blocking, bound to `path`, which is made with the process's umask, and
/// listening.
int coffer_local_listen(const char *path, int backlog);

/// A socket of 127.0.0.1 that listens on a port nobody else has, and does not block.
int coffer_loopback_listen(unsigned short *port);

/// accept(2) with close-on-exec.
int coffer_accept(int fd);

/// Writes up to 4096 bytes to the pipe or socket of another program without waiting, whatever its flags are, which that program shares. How
/// many were taken, or -1 with `errno`, also for a descriptor of another kind.
long coffer_write_at_once(int fd, const void *bytes, size_t count);

/// The user of the process at the other end when it connected or began to listen (Linux SO_PEERCRED, macOS getpeereid).
int coffer_peer_user(int fd, unsigned *user);

/// The number of that process, as this process would name it (Linux SO_PEERCRED, macOS LOCAL_PEERPID); 0 for one that has none here.
int coffer_peer_process(int fd);

/// send(2) that fails with EPIPE and raises no signal.
ssize_t coffer_send(int fd, const void *bytes, size_t count);

/// Closes every descriptor from `first` on.
void coffer_close_from(int first);

/// POSIX_SPAWN_SETSID: the child of posix_spawn(3) begins a session.
int coffer_spawn_new_session(void);

/// Starts `path`, looked for on PATH, in a session of its own, with `input` (below 0: nothing) and `output` as its standard streams. Another
/// process guards it: it ends as the program does, leads the session, and ends all of it where this process dies, of SIGKILL too.
/// Returns the guard's id; -1 with errno where the program cannot be started. The words and the environment are copied to ordinary memory: they
/// hold no secret.
pid_t coffer_spawn_guarded(const char *path, char *const *argv, char *const *envp, int input, int output);

/// Starts a detached thread with a stack of `stack` bytes, which calls `body(work)`. Returns an errno, as pthread_create does.
/// In C, since Swift cannot say which of the modules that include pthread.h `pthread_attr_t` belongs to.
int coffer_detached_thread(size_t stack, void (*body)(void *), void *work);

/// Nanoseconds since the machine was started: with, and without, the time it was suspended.
int64_t coffer_time_since_boot(void);
int64_t coffer_time_awake(void);

/// Whether this process was forked from the one that loaded the program, without an exec(2) since.
bool coffer_is_forked_child(void);

/// This thread's mark that it is inside an `update` closure: see Reentrancy.swift. Asked by every read.
extern _Thread_local bool coffer_closure_mark;
static inline bool coffer_inside_closure(void) { return coffer_closure_mark; }
static inline void coffer_set_inside_closure(bool inside) { coffer_closure_mark = inside; }

/// The number of the router whose `transaction` closure this thread runs; zero outside of one.
extern _Thread_local uint64_t coffer_transaction_mark;
static inline uint64_t coffer_transaction_router(void) { return coffer_transaction_mark; }
static inline void coffer_set_transaction_router(uint64_t router) { coffer_transaction_mark = router; }

/// A number of this thread, from 1: consecutive ones for threads that ask for the first time one after the other.
extern _Thread_local uint32_t coffer_thread_mark;
uint32_t coffer_number_thread(void);
static inline uint32_t coffer_thread_number(void) {
  uint32_t number = coffer_thread_mark;
  return number ? number : coffer_number_thread();
}

/// A file in memory, without a name, closed at exec(2), for its owner to read alone. Linux memfd_create.
int coffer_memory_file(const char *name);
/// Nobody can change the file in memory from now on.
int coffer_seal_memory_file(int fd);

/// A descriptor that can be read when one of the blocked `signals` came, closed at exec(2). Linux signalfd.
int coffer_signal_descriptor(const void *signals);
/// The next signal from such a descriptor, 0 when there is none; `from_kernel` tells whether the terminal or the kernel sent it. What this
/// process sent itself is left out: write(2) does so with SIGPIPE and SIGXFSZ, and fails as well.
int coffer_next_signal(int fd, bool *from_kernel);

/// `number` with seventeen digits at most ("%.17g"), a point in it whatever the process's locale says, in ASCII without an end mark.
/// Returns the bytes that it has.
size_t coffer_print_real(double number, uint8_t *text, size_t size);

/// The words that this process was started with, as the C library has them: Swift reads them from /proc, which may not be there. None
/// where the C library tells nobody but main() (musl).
int coffer_argument_count(void);
char **coffer_arguments(void);

/// The environment of this process: `environ`, which Swift takes for unsafe to read.
char **coffer_environment(void);

/// Bytes that this process may lock in memory, and that a core dump of it may have: RLIMIT_MEMLOCK, RLIMIT_CORE.
uint64_t coffer_lock_limit(void);
uint64_t coffer_core_limit(void);

#endif
