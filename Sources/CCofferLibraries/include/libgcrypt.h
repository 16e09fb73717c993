// The used parts of libgcrypt 1.8 and newer, for the sessions of a Secret Service and for keys of SSH; see its manual.
#pragma once
#include <stddef.h>

struct gcry_mpi;
struct gcry_mpi_point;
struct gcry_context;
struct gcry_sexp;
struct gcry_cipher_handle;

/// Results other than zero are errors.
typedef struct {
  struct gcry_mpi *_Nullable (*_Nonnull mpi_new)(unsigned bits);
  struct gcry_mpi *_Nullable (*_Nonnull mpi_snew)(unsigned bits);
  void (*_Nonnull mpi_release)(struct gcry_mpi *_Nullable number);
  unsigned (*_Nonnull mpi_scan)(
      struct gcry_mpi *_Nullable *_Nonnull number, int format, const void *_Nonnull bytes, size_t count, size_t *_Nullable scanned);
  unsigned (*_Nonnull mpi_print)(
      int format, unsigned char *_Nonnull bytes, size_t count, size_t *_Nullable written, struct gcry_mpi *_Nonnull number);
  void (*_Nonnull mpi_powm)(
      struct gcry_mpi *_Nonnull result, struct gcry_mpi *_Nonnull base, struct gcry_mpi *_Nonnull exponent,
      struct gcry_mpi *_Nonnull modulus);
  struct gcry_mpi_point *_Nullable (*_Nonnull mpi_point_set)(
      struct gcry_mpi_point *_Nullable point, struct gcry_mpi *_Nonnull x, struct gcry_mpi *_Nonnull y,
      struct gcry_mpi *_Nonnull z);
  void (*_Nonnull mpi_mul)(struct gcry_mpi *_Nonnull result, struct gcry_mpi *_Nonnull a, struct gcry_mpi *_Nonnull b);
  void (*_Nonnull mpi_mulm)(
      struct gcry_mpi *_Nonnull result, struct gcry_mpi *_Nonnull a, struct gcry_mpi *_Nonnull b,
      struct gcry_mpi *_Nonnull modulus);
  void (*_Nonnull mpi_sub_ui)(struct gcry_mpi *_Nonnull result, struct gcry_mpi *_Nonnull a, unsigned long b);
  int (*_Nonnull mpi_cmp)(struct gcry_mpi *_Nonnull a, struct gcry_mpi *_Nonnull b);
  int (*_Nonnull mpi_cmp_ui)(struct gcry_mpi *_Nonnull a, unsigned long b);
  void (*_Nonnull point_release)(struct gcry_mpi_point *_Nullable point);
  unsigned (*_Nonnull curve_open)(
      struct gcry_context *_Nullable *_Nonnull curve, struct gcry_sexp *_Nullable key, const char *_Nullable name);
  struct gcry_mpi *_Nullable (*_Nonnull curve_number)(const char *_Nonnull name, struct gcry_context *_Nonnull curve, int copy);
  int (*_Nonnull curve_has)(struct gcry_mpi_point *_Nonnull point, struct gcry_context *_Nonnull curve);
  void (*_Nonnull curve_close)(struct gcry_context *_Nullable curve);
  void *_Nullable (*_Nonnull allocate)(size_t count);
  void *_Nullable (*_Nonnull allocate_secure)(size_t count);
  void (*_Nonnull release)(void *_Nullable memory);
  void (*_Nonnull hash)(int algorithm, void *_Nonnull digest, const void *_Nullable bytes, size_t count);
  unsigned (*_Nonnull sexp_new)(struct gcry_sexp *_Nullable *_Nonnull made, const void *_Nonnull text, size_t count, int detects);
  void (*_Nonnull sexp_release)(struct gcry_sexp *_Nullable expression);
  struct gcry_sexp *_Nullable (*_Nonnull sexp_find)(struct gcry_sexp *_Nonnull list, const char *_Nonnull token, size_t count);
  const char *_Nullable (*_Nonnull sexp_data)(struct gcry_sexp *_Nonnull list, int index, size_t *_Nonnull count);
  unsigned (*_Nonnull key_sign)(
      struct gcry_sexp *_Nullable *_Nonnull signature, struct gcry_sexp *_Nonnull data, struct gcry_sexp *_Nonnull key);
  unsigned (*_Nonnull key_verify)(
      struct gcry_sexp *_Nonnull signature, struct gcry_sexp *_Nonnull data, struct gcry_sexp *_Nonnull key);
  unsigned (*_Nonnull key_test)(struct gcry_sexp *_Nonnull key);
  unsigned (*_Nonnull cipher_open)(struct gcry_cipher_handle *_Nullable *_Nonnull cipher, int algorithm, int mode, unsigned flags);
  void (*_Nonnull cipher_close)(struct gcry_cipher_handle *_Nullable cipher);
  unsigned (*_Nonnull cipher_setkey)(struct gcry_cipher_handle *_Nonnull cipher, const void *_Nonnull key, size_t count);
  unsigned (*_Nonnull cipher_setiv)(struct gcry_cipher_handle *_Nonnull cipher, const void *_Nonnull vector, size_t count);
  unsigned (*_Nonnull cipher_encrypt)(
      struct gcry_cipher_handle *_Nonnull cipher, void *_Nonnull out, size_t room, const void *_Nullable bytes, size_t count);
  unsigned (*_Nonnull cipher_decrypt)(
      struct gcry_cipher_handle *_Nonnull cipher, void *_Nonnull out, size_t room, const void *_Nullable bytes, size_t count);
} coffer_libgcrypt;

/// `GCRYMPI_FMT_USG`, `GCRY_CIPHER_AES`, `GCRY_CIPHER_MODE_CBC`, `GCRY_CIPHER_SECURE`.
enum { COFFER_GCRYPT_UNSIGNED = 5, COFFER_GCRYPT_AES128 = 7, COFFER_GCRYPT_CBC = 3, COFFER_GCRYPT_SECURE = 1 };

/// `GCRY_MD_SHA256` and the others.
enum { COFFER_GCRYPT_SHA256 = 8, COFFER_GCRYPT_SHA384 = 9, COFFER_GCRYPT_SHA512 = 10 };

/// The library, initialized; NULL if it is not installed or too old, with the reason in `error`. Call it on one thread.
const coffer_libgcrypt *_Nullable coffer_libgcrypt_load(const char *_Nullable *_Nonnull error);
