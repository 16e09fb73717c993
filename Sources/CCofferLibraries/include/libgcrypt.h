// The used parts of libgcrypt 1.8 and newer, for the sessions of a Secret Service; see its manual.
#pragma once
#include <stddef.h>

struct gcry_mpi;
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

/// The library, initialized; NULL if it is not installed or too old, with the reason in `error`. Call it on one thread.
const coffer_libgcrypt *_Nullable coffer_libgcrypt_load(const char *_Nullable *_Nonnull error);
