// The used parts of libzip 1.0 and newer; see zip_open(3) and so on.
#pragma once
#include <stdint.h>

struct zip;
struct zip_file;

typedef struct {
  struct zip *_Nullable (*_Nonnull open)(const char *_Nonnull path, int flags, int *_Nullable error);
  int64_t (*_Nonnull name_locate)(struct zip *_Nonnull archive, const char *_Nonnull name, uint32_t flags);
  struct zip_file *_Nullable (*_Nonnull fopen_index)(struct zip *_Nonnull archive, uint64_t index, uint32_t flags);
  int64_t (*_Nonnull fread)(struct zip_file *_Nonnull file, void *_Nonnull buffer, uint64_t count);
  int (*_Nonnull fclose)(struct zip_file *_Nonnull file);
  void (*_Nonnull discard)(struct zip *_Nonnull archive);
} coffer_libzip;

/// `ZIP_RDONLY` of zip.h.
enum { COFFER_ZIP_RDONLY = 16 };

/// The library; NULL if it is not installed, with the reason in `error`.
const coffer_libzip *_Nullable coffer_libzip_load(const char *_Nullable *_Nonnull error);
