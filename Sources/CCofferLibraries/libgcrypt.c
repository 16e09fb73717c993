#include "libgcrypt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __APPLE__
#include <malloc/malloc.h>
#define malloc_usable_size malloc_size
#else
#include <malloc.h>
#endif

#include "loading.h"

static coffer_libgcrypt table;

#define NAMES(X) \
  X(mpi_new, gcry_mpi_new) \
  X(mpi_snew, gcry_mpi_snew) \
  X(mpi_release, gcry_mpi_release) \
  X(mpi_scan, gcry_mpi_scan) \
  X(mpi_print, gcry_mpi_print) \
  X(mpi_powm, gcry_mpi_powm) \
  X(mpi_point_set, gcry_mpi_point_set) \
  X(mpi_mul, gcry_mpi_mul) \
  X(mpi_mulm, gcry_mpi_mulm) \
  X(mpi_sub_ui, gcry_mpi_sub_ui) \
  X(mpi_cmp, gcry_mpi_cmp) \
  X(mpi_cmp_ui, gcry_mpi_cmp_ui) \
  X(point_release, gcry_mpi_point_release) \
  X(curve_open, gcry_mpi_ec_new) \
  X(curve_number, gcry_mpi_ec_get_mpi) \
  X(curve_has, gcry_mpi_ec_curve_point) \
  X(curve_close, gcry_ctx_release) \
  X(allocate, gcry_malloc) \
  X(allocate_secure, gcry_malloc_secure) \
  X(release, gcry_free) \
  X(hash, gcry_md_hash_buffer) \
  X(sexp_new, gcry_sexp_new) \
  X(sexp_release, gcry_sexp_release) \
  X(sexp_find, gcry_sexp_find_token) \
  X(sexp_data, gcry_sexp_nth_data) \
  X(key_sign, gcry_pk_sign) \
  X(key_verify, gcry_pk_verify) \
  X(key_test, gcry_pk_testkey) \
  X(cipher_open, gcry_cipher_open) \
  X(cipher_close, gcry_cipher_close) \
  X(cipher_setkey, gcry_cipher_setkey) \
  X(cipher_setiv, gcry_cipher_setiv) \
  X(cipher_encrypt, gcry_cipher_encrypt) \
  X(cipher_decrypt, gcry_cipher_decrypt)

// libgcrypt's memory, as this file gives it. Its own leaves copies behind: the search in an expression copies a part of a private
// key to ordinary memory, which is not wiped. Here all memory is wiped when it is freed, and secrets lie in a locked pool.

enum { UNIT = 16 };
// A signature with an RSA key of 16 384 bits takes less than 64 KiB (measured), and few are made at once. Secrets
// beyond the pool are wiped too, but not locked.
enum { POOL_BYTES = 256 * 1024 };

// Followed by its memory. The pool is a row of these.
typedef struct {
  size_t count;
  size_t is_used;
} block;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *pool;

static block *after(block *one) { return (block *)((unsigned char *)(one + 1) + one->count); }

static int is_pooled(const void *memory) {
  return pool && (const unsigned char *)memory >= pool && (const unsigned char *)memory < pool + POOL_BYTES;
}

static void wipe(void *memory, size_t count) {
  memset(memory, 0, count);
  __asm__ volatile("" : : "r"(memory) : "memory");  // The compiler must not leave it out.
}

static void *take(size_t count) { return malloc(count ? count : 1); }

static void *take_locked(size_t count) {
  if (!pool || count > POOL_BYTES) return take(count);
  count = (count + UNIT - 1) / UNIT * UNIT;
  void *found = NULL;
  pthread_mutex_lock(&pool_lock);
  for (block *one = (block *)pool; !found && (unsigned char *)one < pool + POOL_BYTES; one = after(one)) {
    if (one->is_used) continue;
    for (block *next = after(one); (unsigned char *)next < pool + POOL_BYTES && !next->is_used; next = after(one)) {
      one->count += sizeof(block) + next->count;
    }
    if (one->count < count) continue;
    if (one->count >= count + sizeof(block) + UNIT) {
      const size_t rest = one->count - count - sizeof(block);
      one->count = count;
      *after(one) = (block){ rest, 0 };
    }
    one->is_used = 1;
    found = one + 1;
  }
  pthread_mutex_unlock(&pool_lock);
  return found ? found : take(count);
}

static size_t size(void *memory) { return is_pooled(memory) ? ((block *)memory - 1)->count : malloc_usable_size(memory); }

static void give(void *memory) {
  if (!memory) return;
  wipe(memory, size(memory));
  if (!is_pooled(memory)) {
    free(memory);
    return;
  }
  pthread_mutex_lock(&pool_lock);
  ((block *)memory - 1)->is_used = 0;
  pthread_mutex_unlock(&pool_lock);
}

static void *resize(void *memory, size_t count) {
  void *larger = memory && is_pooled(memory) ? take_locked(count) : take(count);
  if (!larger || !memory) return larger;
  const size_t had = size(memory);
  memcpy(larger, memory, had < count ? had : count);
  give(memory);
  return larger;
}

static void make_pool(void) {
  void *made = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return;
  mlock(made, POOL_BYTES);  // Where the limit forbids it, secrets may reach the swap space, as with libgcrypt's own pool.
#ifdef MADV_DONTDUMP
  madvise(made, POOL_BYTES, MADV_DONTDUMP);
#endif
  *(block *)made = (block){ POOL_BYTES - sizeof(block), 0 };
  pool = made;
}

// GCRYCTL_INITIALIZATION_FINISHED, GCRYCTL_INITIALIZATION_FINISHED_P
enum { FINISHED = 38, IS_FINISHED = 39 };

static bool fill(const char **error) {
  void *library = coffer_library_open("libgcrypt.so.20", error);
  if (!library) return false;
  NAMES(COFFER_LOAD_FUNCTION)
  const char *(*check_version)(const char *) = NULL;
  unsigned (*control)(int, ...) = NULL;
  void (*set_memory)(
      void *(*)(size_t), void *(*)(size_t), int (*)(const void *), void *(*)(void *, size_t), void (*)(void *)) = NULL;
  *(void **)&check_version = dlsym(library, "gcry_check_version");
  *(void **)&control = dlsym(library, "gcry_control");
  *(void **)&set_memory = dlsym(library, "gcry_set_allocation_handler");
  if (!check_version || !control || !set_memory) {
    *error = "libgcrypt is older than 1.8";
    return false;
  }
  // Another library of the process may have initialized it.
  const bool is_ours = !control(IS_FINISHED, 0);
  if (is_ours) {
    if (!pool) make_pool();
    set_memory(take, take_locked, is_pooled, resize, give);
  }
  if (!check_version("1.8.0")) {
    *error = "libgcrypt is older than 1.8";
    return false;
  }
  if (is_ours) control(FINISHED, 0);
  return true;
}

COFFER_LOADER(coffer_libgcrypt, coffer_libgcrypt_load)
