#define _GNU_SOURCE
#include "CCofferPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

extern char **environ;

// Between fork(2) and execve(2), and in the guard, which never calls execve(2): only calls that signal-safety(7) lists.

struct streams {
  int input, output, errors;
};

// Never raises a limit of this process's.
static int limit_files(uint64_t largest) {
  struct rlimit limit;
  if (largest == 0) return 0;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return -1;
  if (limit.rlim_cur > largest) limit.rlim_cur = largest;
  if (limit.rlim_max > largest) limit.rlim_max = largest;
  return setrlimit(RLIMIT_FSIZE, &limit);
}

static void become(const char *path, char *const *argv, char *const *envp, struct streams streams, uint64_t largest, int report) {
  sigset_t none;
  sigemptyset(&none);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  int input = streams.input < 0 ? open("/dev/null", O_RDONLY) : streams.input;
  if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(streams.output, STDOUT_FILENO) >= 0
      && (streams.errors < 0 || dup2(streams.errors, STDERR_FILENO) >= 0)
      && limit_files(largest) == 0) {
    environ = (char **)envp;
    execvp(path, argv);
  }
  int code = errno;
  while (write(report, &code, sizeof code) < 0 && errno == EINTR) {}
  _exit(127);
}

// Waits for the program and ends like it. If the asking process is gone, it ends the whole session.
static void guard(pid_t program, pid_t asking, const sigset_t *signals) {
  for (;;) {
    int status;
    pid_t ended = waitpid(program, &status, WNOHANG);
    if (ended == program) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    if (getppid() != asking) break;
    int number;
    sigwait(signals, &number);
  }
  kill(0, SIGTERM);
  struct timespec second = {1, 0};
  while (waitpid(program, NULL, WNOHANG) == 0 && sigtimedwait(signals, NULL, &second) == SIGTERM) {}
  kill(0, SIGKILL);
}

static void release(char **texts) {
  for (size_t index = 0; texts[index]; index++) free(texts[index]);
  free(texts);
}

// Copies texts out of memory that a fork wipes: see coffer_wipe_on_fork.
static char **copied(char *const *texts) {
  size_t count = 0;
  while (texts[count]) count++;
  char **copies = calloc(count + 1, sizeof *copies);
  for (size_t index = 0; copies && index < count; index++) {
    if ((copies[index] = strdup(texts[index]))) continue;
    release(copies);
    return NULL;
  }
  return copies;
}

static pid_t spawn_guarded(const char *path, char *const *argv, char *const *envp, struct streams streams, uint64_t largest);

pid_t coffer_spawn_guarded(
    const char *path, char *const *argv, char *const *envp, int input, int output, int errors, uint64_t largest) {
  char **environment = copied(envp);
  if (!environment) return -1;
  struct streams streams = {input, output, errors};
  pid_t guarding = spawn_guarded(path, argv, environment, streams, largest);
  int code = errno;
  release(environment);
  errno = code;
  return guarding;
}

static pid_t spawn_guarded(const char *path, char *const *argv, char *const *envp, struct streams streams, uint64_t largest) {
  int report[2];
  if (pipe(report) != 0) return -1;
  for (int end = 0; end < 2; end++) fcntl(report[end], F_SETFD, FD_CLOEXEC);
  pid_t asking = getpid();
  pid_t guarding = fork();
  if (guarding == 0) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    signal(SIGCHLD, SIG_DFL);
    setsid();
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
#endif
    pid_t program = fork();
    if (program == 0) become(path, argv, envp, streams, largest, report[1]);
    if (program < 0) {
      int code = errno;
      while (write(report[1], &code, sizeof code) < 0 && errno == EINTR) {}
      _exit(127);
    }
    // Closes the command's descriptors: its locks stay its own, and the pipe ends with the program.
    coffer_close_from(0);
    guard(program, asking, &signals);
    _exit(127);
  }
  int code = guarding < 0 ? errno : 0;
  close(report[1]);
  if (guarding > 0) {
    ssize_t got;
    do got = read(report[0], &code, sizeof code);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof code) {
      while (waitpid(guarding, NULL, 0) < 0 && errno == EINTR) {}
      guarding = -1;
    }
  }
  close(report[0]);
  errno = code;
  return guarding;
}
