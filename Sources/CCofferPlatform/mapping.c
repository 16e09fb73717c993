#define _GNU_SOURCE
#include "CCofferPlatform.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

struct mapping {
  _Atomic uintptr_t base;  // 0 while nobody has it.
  size_t size;
  struct mapping *next;
};

// Never shrinks, because the handler may be walking it; holds the most mappings that were in use at once.
static struct mapping *_Atomic mappings;
static struct sigaction earlier;

static void survive(int number, siginfo_t *info, void *context) {
  uintptr_t address = (uintptr_t)info->si_addr;
  for (struct mapping *m = atomic_load(&mappings); m && info->si_code > 0; m = m->next) {
    uintptr_t base = atomic_load(&m->base);
    if (!base || address < base || address - base >= m->size) continue;
    int code = errno;
    void *zeros = mmap((void *)base, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    errno = code;
    if (zeros != MAP_FAILED) return;
  }
  if (earlier.sa_flags & SA_SIGINFO) {
    earlier.sa_sigaction(number, info, context);
  } else if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) {
    earlier.sa_handler(number);
  } else if (info->si_code > 0 || earlier.sa_handler == SIG_DFL) {
    // With the default action the repeated signal, from the same access or from here, ends the process.
    signal(number, SIG_DFL);
    if (info->si_code <= 0) raise(number);
  }
}

static void install(void) {
  struct sigaction action = {.sa_sigaction = survive, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &earlier);
}

void *coffer_map_file(int fd, size_t size, bool writable) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  void *base = mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return NULL;
  for (struct mapping *m = atomic_load(&mappings); m; m = m->next) {
    uintptr_t nobody = 0;
    if (m->size == size && atomic_compare_exchange_strong(&m->base, &nobody, (uintptr_t)base)) return base;
  }
  struct mapping *new = malloc(sizeof *new);
  if (!new) {
    munmap(base, size);
    errno = ENOMEM;
    return NULL;
  }
  atomic_init(&new->base, (uintptr_t)base);
  new->size = size;
  new->next = atomic_load(&mappings);
  while (!atomic_compare_exchange_weak(&mappings, &new->next, new)) {}
  return base;
}

void coffer_unmap_file(void *base, size_t size) {
  for (struct mapping *m = atomic_load(&mappings); m; m = m->next) {
    uintptr_t found = (uintptr_t)base;
    if (atomic_compare_exchange_strong(&m->base, &found, 0)) break;
  }
  munmap(base, size);
}
