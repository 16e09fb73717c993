// The used parts of zlib 1.2 and newer; see zlib.h.
#pragma once

/// `z_stream` of zlib.h. Without functions for memory zlib takes its own.
typedef struct {
  const unsigned char *_Nullable next_in;
  unsigned int avail_in;
  unsigned long total_in;
  unsigned char *_Nullable next_out;
  unsigned int avail_out;
  unsigned long total_out;
  const char *_Nullable message;
  void *_Nullable state, *_Nullable allocate, *_Nullable free, *_Nullable opaque;
  int data_type;
  unsigned long adler, reserved;
} coffer_zstream;

typedef struct {
  int (*_Nonnull begin)(coffer_zstream *_Nonnull stream, int window, const char *_Nonnull version, int size);
  int (*_Nonnull inflate)(coffer_zstream *_Nonnull stream, int flush);
  int (*_Nonnull end)(coffer_zstream *_Nonnull stream);
} coffer_libz;

/// `Z_FINISH` and `Z_STREAM_END` of zlib.h, and a window of 32 KiB in a gzip file.
enum { COFFER_Z_FINISH = 4, COFFER_Z_STREAM_END = 1, COFFER_Z_GZIP = 31 };

/// The library; NULL if it is not installed, with the reason in `error`.
const coffer_libz *_Nullable coffer_libz_load(const char *_Nullable *_Nonnull error);
