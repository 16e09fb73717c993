// Makes syncs of some files do nothing, like a program that forgot them: those whose path contains the text of
// COFFER_UNSYNCED, or ends in it if a $ follows. Loaded with LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_forgotten(int fd) {
  const char *text = getenv("COFFER_UNSYNCED");
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (text == NULL || length < 0) return 0;
  path[length] = 0;
  size_t wanted = strlen(text);
  if (wanted == 0 || text[wanted - 1] != '$') return strstr(path, text) != NULL;
  wanted -= 1;
  return (size_t)length >= wanted && strncmp(path + length - wanted, text, wanted) == 0;
}

static int real(const char *name, int fd) {
  int (*call)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return call(fd);
}

int fsync(int fd) { return is_forgotten(fd) ? 0 : real("fsync", fd); }
int fdatasync(int fd) { return is_forgotten(fd) ? 0 : real("fdatasync", fd); }
