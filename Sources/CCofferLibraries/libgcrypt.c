#include "libgcrypt.h"

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

// GCRYCTL_INIT_SECMEM, GCRYCTL_DISABLE_SECMEM_WARN, GCRYCTL_INITIALIZATION_FINISHED, GCRYCTL_INITIALIZATION_FINISHED_P
enum { INIT_SECMEM = 24, DISABLE_SECMEM_WARN = 27, FINISHED = 38, IS_FINISHED = 39 };
// Bytes of locked memory: enough for a signature with an RSA key of 16 384 bits (measured). Beyond it libgcrypt takes memory that it
// wipes too, but does not lock.
enum { SECURE_BYTES = 64 * 1024 };

static bool fill(const char **error) {
  void *library = coffer_library_open("libgcrypt.so.20", error);
  if (!library) return false;
  NAMES(COFFER_LOAD_FUNCTION)
  const char *(*check_version)(const char *) = NULL;
  unsigned (*control)(int, ...) = NULL;
  *(void **)&check_version = dlsym(library, "gcry_check_version");
  *(void **)&control = dlsym(library, "gcry_control");
  if (!check_version || !control || !check_version("1.8.0")) {
    *error = "libgcrypt is older than 1.8";
    return false;
  }
  // Another library of the process may have initialized it.
  if (!control(IS_FINISHED, 0)) {
    control(DISABLE_SECMEM_WARN, 0);
    control(INIT_SECMEM, SECURE_BYTES, 0);
    control(FINISHED, 0);
  }
  return true;
}

COFFER_LOADER(coffer_libgcrypt, coffer_libgcrypt_load)
