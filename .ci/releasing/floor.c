// The program must run where the C library is glibc 2.34: Debian 12, Ubuntu 22.04, RHEL 9. Two symbols of the toolchain's archives ask for
// 2.35. Both are defined here, hidden: a loaded library keeps the system's.
#define _GNU_SOURCE
#include <link.h>
#include <math.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

// Of libswiftGlibc.a, and never called by coffer. The squares of two floats fit a double.
HIDDEN float hypotf(float x, float y) {
  if (isinf(x) || isinf(y)) return INFINITY;
  return (float)sqrt((double)x * x + (double)y * y);
}

// Of GCC 12's libgcc_eh.a, which unwinds C++ exceptions. Older versions walked the loaded objects, as this does.
// Source: the manual of the C library, "Dynamic Linker Introspection".
struct object { unsigned long long flags; void *start, *end; struct link_map *map; void *unwind_table; unsigned long long reserved[7]; };
struct search { uintptr_t address; struct object *found; };

static int look(struct dl_phdr_info *info, size_t size, void *data) {
  struct search *search = data;
  uintptr_t start = 0, end = 0, table = 0;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
    const uintptr_t from = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && search->address - from < segment->p_memsz) start = from, end = from + segment->p_memsz;
    if (segment->p_type == PT_GNU_EH_FRAME) table = from;
  }
  if (!start || !table) return 0;
  *search->found = (struct object){.start = (void *)start, .end = (void *)end, .unwind_table = (void *)table};
  return 1;
}

// dlfcn.h may declare the name with other types.
HIDDEN int coffer_find_object(void *address, struct object *found) __asm__("_dl_find_object");
int coffer_find_object(void *address, struct object *found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
