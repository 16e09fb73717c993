// The used parts of sd-bus, systemd's D-Bus library, of 221 and newer; see sd-bus(3) and so on.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;

/// `sd_bus_error` of sd-bus.h.
typedef struct {
  const char *_Nullable name;
  const char *_Nullable message;
  int need_free;
} coffer_sdbus_error;

/// Results below zero are negated system errors.
typedef struct {
  int (*_Nonnull open_user)(sd_bus *_Nullable *_Nonnull bus);
  int (*_Nonnull new_bus)(sd_bus *_Nullable *_Nonnull bus);
  int (*_Nonnull set_address)(sd_bus *_Nonnull bus, const char *_Nonnull address);
  int (*_Nonnull set_bus_client)(sd_bus *_Nonnull bus, int isClient);
  int (*_Nonnull start)(sd_bus *_Nonnull bus);
  sd_bus *_Nullable (*_Nonnull flush_close_unref)(sd_bus *_Nullable bus);
  int (*_Nonnull get_address)(sd_bus *_Nonnull bus, const char *_Nullable *_Nonnull address);
  int (*_Nonnull request_name)(sd_bus *_Nonnull bus, const char *_Nonnull name, uint64_t flags);
  int (*_Nonnull get_fd)(sd_bus *_Nonnull bus);
  int (*_Nonnull get_events)(sd_bus *_Nonnull bus);
  int (*_Nonnull get_timeout)(sd_bus *_Nonnull bus, uint64_t *_Nonnull microseconds);
  int (*_Nonnull process)(sd_bus *_Nonnull bus, sd_bus_message *_Nullable *_Nonnull message);
  int (*_Nonnull send)(sd_bus *_Nonnull bus, sd_bus_message *_Nonnull message, uint64_t *_Nullable cookie);
  int (*_Nonnull call)(
      sd_bus *_Nonnull bus, sd_bus_message *_Nonnull message, uint64_t microseconds, coffer_sdbus_error *_Nullable error,
      sd_bus_message *_Nullable *_Nullable answer);
  void (*_Nonnull error_free)(coffer_sdbus_error *_Nonnull error);

  int (*_Nonnull new_method_call)(
      sd_bus *_Nonnull bus, sd_bus_message *_Nullable *_Nonnull message, const char *_Nullable destination,
      const char *_Nonnull path, const char *_Nullable interface, const char *_Nonnull member);
  int (*_Nonnull new_method_return)(sd_bus_message *_Nonnull call, sd_bus_message *_Nullable *_Nonnull message);
  int (*_Nonnull new_method_error)(
      sd_bus_message *_Nonnull call, sd_bus_message *_Nullable *_Nonnull message, const coffer_sdbus_error *_Nonnull error);
  int (*_Nonnull new_signal)(
      sd_bus *_Nonnull bus, sd_bus_message *_Nullable *_Nonnull message, const char *_Nonnull path,
      const char *_Nonnull interface, const char *_Nonnull member);
  sd_bus_message *_Nullable (*_Nonnull message_unref)(sd_bus_message *_Nullable message);
  int (*_Nonnull message_sensitive)(sd_bus_message *_Nonnull message);
  int (*_Nonnull set_destination)(sd_bus_message *_Nonnull message, const char *_Nonnull destination);

  int (*_Nonnull get_type)(sd_bus_message *_Nonnull message, uint8_t *_Nonnull type);
  int (*_Nonnull get_expect_reply)(sd_bus_message *_Nonnull message);
  const char *_Nullable (*_Nonnull get_path)(sd_bus_message *_Nonnull message);
  const char *_Nullable (*_Nonnull get_interface)(sd_bus_message *_Nonnull message);
  const char *_Nullable (*_Nonnull get_member)(sd_bus_message *_Nonnull message);
  const char *_Nullable (*_Nonnull get_sender)(sd_bus_message *_Nonnull message);
  const char *_Nullable (*_Nonnull get_signature)(sd_bus_message *_Nonnull message, int complete);

  int (*_Nonnull append_basic)(sd_bus_message *_Nonnull message, char type, const void *_Nonnull value);
  int (*_Nonnull append_array)(sd_bus_message *_Nonnull message, char type, const void *_Nullable bytes, size_t size);
  int (*_Nonnull open_container)(sd_bus_message *_Nonnull message, char type, const char *_Nullable contents);
  int (*_Nonnull close_container)(sd_bus_message *_Nonnull message);
  int (*_Nonnull read_basic)(sd_bus_message *_Nonnull message, char type, void *_Nonnull value);
  int (*_Nonnull read_array)(
      sd_bus_message *_Nonnull message, char type, const void *_Nullable *_Nonnull bytes, size_t *_Nonnull size);
  int (*_Nonnull enter_container)(sd_bus_message *_Nonnull message, char type, const char *_Nullable contents);
  int (*_Nonnull exit_container)(sd_bus_message *_Nonnull message);
  int (*_Nonnull peek_type)(
      sd_bus_message *_Nonnull message, char *_Nullable type, const char *_Nullable *_Nullable contents);
  int (*_Nonnull skip)(sd_bus_message *_Nonnull message, const char *_Nullable types);
} coffer_sdbus;

/// `SD_BUS_NAME_REPLACE_EXISTING`, `SD_BUS_NAME_ALLOW_REPLACEMENT`; `SD_BUS_MESSAGE_METHOD_CALL`, `SD_BUS_MESSAGE_SIGNAL`.
enum {
  COFFER_SDBUS_REPLACE_EXISTING = 1,
  COFFER_SDBUS_ALLOW_REPLACEMENT = 2,
  COFFER_SDBUS_METHOD_CALL = 1,
  COFFER_SDBUS_SIGNAL = 4,
};

/// The library; NULL if it is not installed, with the reason in `error`.
const coffer_sdbus *_Nullable coffer_sdbus_load(const char *_Nullable *_Nonnull error);
