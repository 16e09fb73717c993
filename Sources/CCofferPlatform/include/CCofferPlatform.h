#ifndef COFFER_PLATFORM_H
#define COFFER_PLATFORM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// System calls that Swift's Glibc overlay does not import (they need _GNU_SOURCE, are variadic, or are macros). Each returns
// -1 and leaves errno set on failure.

/// rename without replacing: EEXIST if `to` exists. Linux renameat2(RENAME_NOREPLACE), macOS renamex_np.
int coffer_rename_noreplace(const char *from, const char *to);

/// Exchanges two names. EINVAL or ENOSYS if the file system cannot. Linux RENAME_EXCHANGE, macOS RENAME_SWAP.
int coffer_rename_exchange(const char *one, const char *other);

/// Renews attributes of `path` that the kernel may cache (FUSE, NFS).
int coffer_refresh_attributes(const char *path);

/// Whether only this process's user can write to `path` by its group: the private group of that name, the user's primary one, without
/// other members, and no access control list. Debian and Fedora give each user such a group, and the mask 0002. As sshd does there, in
/// user-group-modes.patch. Users of a directory service are asked for by name alone, so that its administrator is trusted.
bool coffer_has_private_group(const char *path, gid_t group);

/// Makes [p, p+n), page aligned, read as zeros in a forked child. -1 if the kernel cannot (before Linux 4.14).
int coffer_wipe_on_fork(void *p, size_t n);

/// Maps `size` bytes of `fd`, shared, for reading and, if `writable`, for writing; NULL with errno. If another program
/// truncates the file, an access behind its end does not end the process: it replaces the whole mapping by zeros private to
/// this process, which also receive stores. A handler of SIGBUS, installed by the first call, does that; it passes every
/// other SIGBUS to the previous handler.
void *coffer_map_file(int fd, size_t size, bool writable);
void coffer_unmap_file(void *base, size_t size);

/// `size` zero bytes on separate pages, left out of core dumps and wiped in a forked child. A last byte, 1 until then, shows
/// this. `locked` says whether they are locked against swapping, which RLIMIT_MEMLOCK limits. NULL with errno.
void *coffer_map_secret(size_t size, bool *locked);
/// Wipes and unmaps them.
void coffer_unmap_secret(void *base, size_t size);
/// Whether they are still there, and not in a forked child.
bool coffer_secret_is_intact(const void *base, size_t size);

int coffer_exclude_from_core(void *p, size_t n);

/// No core dump (RLIMIT_CORE 0, not dumpable), which also closes /proc/PID/mem and ptrace to other processes of this user.
int coffer_forbid_core_dumps(void);

/// Forbids gaining privileges by execve (Linux PR_SET_NO_NEW_PRIVS).
int coffer_forbid_new_privileges(void);

/// Descriptor-owned record lock on the whole file (F_OFD_SETLK): `exclusive` or shared; never blocks, EAGAIN if held.
int coffer_ofd_lock(int fd, bool exclusive);
int coffer_ofd_unlock(int fd);

/// The type number of the file system behind `fd` (statfs f_type), or -1.
int64_t coffer_filesystem_type(int fd);

/// open(2) with a mode, which is variadic in C.
int coffer_open(const char *path, int flags, unsigned mode);
int coffer_openat(int dir, const char *path, int flags, unsigned mode);

/// Opens a new, nameless file in `folder` for writing; it is gone with its last descriptor unless it gets a name. Linux
/// O_TMPFILE; ENOTSUP elsewhere and without /proc, which naming needs; EOPNOTSUPP on a file system without such files.
int coffer_open_unnamed(const char *folder, unsigned mode);
/// Gives such a file the name `path`, which must be free.
int coffer_name(int fd, const char *path);

/// A local stream socket, close-on-exec, connected to the listener at `path`. Waits at most `patience` milliseconds for room
/// in the listener's queue, then EAGAIN. ENAMETOOLONG if the path does not fit the address.
int coffer_local_connect(const char *path, int patience);

/// A local stream socket, close-on-exec and non-blocking, that listens at `path`, which is made with the process's umask.
int coffer_local_listen(const char *path, int backlog);

/// A non-blocking socket that listens on a free port of 127.0.0.1.
int coffer_loopback_listen(unsigned short *port);

/// accept(2) with close-on-exec.
int coffer_accept(int fd);

/// Writes up to 4096 bytes to another program's pipe or socket without waiting, whatever its flags, which that program
/// shares. Returns the bytes taken, or -1 with `errno`, also for another kind of descriptor.
long coffer_write_at_once(int fd, const void *bytes, size_t count);

/// The user of the peer's process when it connected or began to listen (Linux SO_PEERCRED, macOS getpeereid).
int coffer_peer_user(int fd, unsigned *user);

/// The peer's process id, as seen by this process (Linux SO_PEERCRED, macOS LOCAL_PEERPID); 0 if it has none here.
int coffer_peer_process(int fd);

/// send(2) that fails with EPIPE and raises no signal.
ssize_t coffer_send(int fd, const void *bytes, size_t count);

void coffer_close_from(int first);

/// POSIX_SPAWN_SETSID: the child of posix_spawn(3) begins a session.
int coffer_spawn_new_session(void);

/// Starts `path`, searched on the PATH of `envp`, in its own session, with `input` (below 0: nothing), `output` and `errors`
/// (below 0: this process's) as standard streams. None of its files may grow beyond `largest` bytes (0: no limit of its own).
/// A guard process leads the session and ends like the program; if this process dies, even of SIGKILL, it ends the whole
/// session. Returns the guard's id; -1 with errno if the program cannot be started. The environment is copied to ordinary
/// memory: it holds no secret.
pid_t coffer_spawn_guarded(
    const char *path, char *const *argv, char *const *envp, int input, int output, int errors, uint64_t largest);

/// Starts a detached thread with a stack of `stack` bytes, which calls `body(work)`. Returns an errno, as pthread_create
/// does. In C, because several modules that include pthread.h make `pthread_attr_t` ambiguous in Swift.
int coffer_detached_thread(size_t stack, void (*body)(void *), void *work);

/// Nanoseconds since boot: with, and without, suspended time.
int64_t coffer_time_since_boot(void);
int64_t coffer_time_awake(void);

/// Whether this process was forked from the one that loaded the program, without an exec(2) since.
bool coffer_is_forked_child(void);

/// Whether this thread is inside an `update` closure: see Reentrancy.swift. Every read checks it.
extern _Thread_local bool coffer_closure_mark;
static inline bool coffer_inside_closure(void) { return coffer_closure_mark; }
static inline void coffer_set_inside_closure(bool inside) { coffer_closure_mark = inside; }

/// The number of the router whose `transaction` closure this thread runs; zero outside of one.
extern _Thread_local uint64_t coffer_transaction_mark;
static inline uint64_t coffer_transaction_router(void) { return coffer_transaction_mark; }
static inline void coffer_set_transaction_router(uint64_t router) { coffer_transaction_mark = router; }

/// How calls on this thread may wait: see Waiting.swift. Both are NULL for synchronous calls.
extern _Thread_local void *coffer_attempt_mark;
static inline void *coffer_attempt(void) { return coffer_attempt_mark; }
static inline void coffer_set_attempt(void *attempt) { coffer_attempt_mark = attempt; }
extern _Thread_local void *coffer_call_mark;
static inline void *coffer_call(void) { return coffer_call_mark; }
static inline void coffer_set_call(void *call) { coffer_call_mark = call; }

/// A number of this thread, from 1, consecutive in the order of the threads' first use.
extern _Thread_local uint32_t coffer_thread_mark;
uint32_t coffer_number_thread(void);
static inline uint32_t coffer_thread_number(void) {
  uint32_t number = coffer_thread_mark;
  return number ? number : coffer_number_thread();
}

/// A nameless file in memory, close-on-exec, readable by its owner alone. Linux memfd_create.
int coffer_memory_file(const char *name);
/// Makes it immutable.
int coffer_seal_memory_file(int fd);

/// A close-on-exec descriptor that becomes readable with one of the blocked `signals`. Linux signalfd.
int coffer_signal_descriptor(const void *signals);
/// The next signal of such a descriptor, 0 if none; `from_kernel` says whether the terminal or the kernel sent it. Signals
/// from this process itself are left out: write(2) raises SIGPIPE and SIGXFSZ that way, and fails as well.
int coffer_next_signal(int fd, bool *from_kernel);

/// `number` in at most seventeen digits ("%.17g"), with a point whatever the process's locale, in ASCII without an end mark.
/// Returns the count of bytes.
size_t coffer_print_real(double number, uint8_t *text, size_t size);

/// The process's arguments from the C library: Swift reads /proc, which may be missing. None if only main() gets them (musl).
int coffer_argument_count(void);
char **coffer_arguments(void);

/// The process's `environ`, which Swift considers unsafe to read.
char **coffer_environment(void);

/// RLIMIT_MEMLOCK and RLIMIT_CORE, in bytes.
uint64_t coffer_lock_limit(void);
uint64_t coffer_core_limit(void);

#endif
