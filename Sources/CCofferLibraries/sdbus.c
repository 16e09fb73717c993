#include "sdbus.h"

#include "loading.h"

static coffer_sdbus table;

#define NAMES(X) \
  X(open_user, sd_bus_open_user) \
  X(new_bus, sd_bus_new) \
  X(set_address, sd_bus_set_address) \
  X(set_bus_client, sd_bus_set_bus_client) \
  X(start, sd_bus_start) \
  X(flush_close_unref, sd_bus_flush_close_unref) \
  X(get_address, sd_bus_get_address) \
  X(request_name, sd_bus_request_name) \
  X(get_fd, sd_bus_get_fd) \
  X(get_events, sd_bus_get_events) \
  X(get_timeout, sd_bus_get_timeout) \
  X(process, sd_bus_process) \
  X(send, sd_bus_send) \
  X(call, sd_bus_call) \
  X(error_free, sd_bus_error_free) \
  X(new_method_call, sd_bus_message_new_method_call) \
  X(new_method_return, sd_bus_message_new_method_return) \
  X(new_method_error, sd_bus_message_new_method_error) \
  X(new_signal, sd_bus_message_new_signal) \
  X(message_unref, sd_bus_message_unref) \
  X(message_sensitive, sd_bus_message_sensitive) \
  X(set_destination, sd_bus_message_set_destination) \
  X(get_type, sd_bus_message_get_type) \
  X(get_expect_reply, sd_bus_message_get_expect_reply) \
  X(get_path, sd_bus_message_get_path) \
  X(get_interface, sd_bus_message_get_interface) \
  X(get_member, sd_bus_message_get_member) \
  X(get_sender, sd_bus_message_get_sender) \
  X(get_signature, sd_bus_message_get_signature) \
  X(append_basic, sd_bus_message_append_basic) \
  X(append_array, sd_bus_message_append_array) \
  X(open_container, sd_bus_message_open_container) \
  X(close_container, sd_bus_message_close_container) \
  X(read_basic, sd_bus_message_read_basic) \
  X(read_array, sd_bus_message_read_array) \
  X(enter_container, sd_bus_message_enter_container) \
  X(exit_container, sd_bus_message_exit_container) \
  X(peek_type, sd_bus_message_peek_type) \
  X(skip, sd_bus_message_skip)

static bool fill(const char **error) {
  void *library = coffer_library_open("libsystemd.so.0", error);
  if (!library) return false;
  NAMES(COFFER_LOAD_FUNCTION)
  return true;
}

COFFER_LOADER(coffer_sdbus, coffer_sdbus_load)
