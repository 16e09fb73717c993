// The used parts of libqrencode 4; see qrencode.h.
#pragma once

/// `QRcode` of qrencode.h: `width` rows of as many bytes, whose lowest bit is a dark module.
typedef struct {
  int version;
  int width;
  unsigned char *_Nonnull data;
} coffer_qrcode;

typedef struct {
  coffer_qrcode *_Nullable (*_Nonnull encode)(int count, const unsigned char *_Nonnull bytes, int version, int level);
  void (*_Nonnull free)(coffer_qrcode *_Nonnull code);
} coffer_libqrencode;

/// The library; NULL if it is not installed, with the reason in `error`.
const coffer_libqrencode *_Nullable coffer_libqrencode_load(const char *_Nullable *_Nonnull error);
