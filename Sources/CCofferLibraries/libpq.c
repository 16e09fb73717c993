#include "libpq.h"

#include <string.h>

#include "loading.h"

static coffer_libpq table;

#define NAMES(X) \
  X(library_version, PQlibVersion) \
  X(parse, PQconninfoParse) \
  X(options, PQconninfo) \
  X(free_options, PQconninfoFree) \
  X(free_memory, PQfreemem) \
  X(connect, PQconnectStartParams) \
  X(connect_poll, PQconnectPoll) \
  X(finish, PQfinish) \
  X(status, PQstatus) \
  X(transaction_status, PQtransactionStatus) \
  X(socket, PQsocket) \
  X(backend_pid, PQbackendPID) \
  X(error_message, PQerrorMessage) \
  X(ssl_in_use, PQsslInUse) \
  X(host, PQhost) \
  X(set_nonblocking, PQsetnonblocking) \
  X(enter_pipeline, PQenterPipelineMode) \
  X(sync, PQpipelineSync) \
  X(flush, PQflush) \
  X(consume, PQconsumeInput) \
  X(is_busy, PQisBusy) \
  X(result, PQgetResult) \
  X(send_prepare, PQsendPrepare) \
  X(send_prepared, PQsendQueryPrepared) \
  X(send_parameters, PQsendQueryParams) \
  X(notifies, PQnotifies) \
  X(set_receiver, PQsetNoticeReceiver) \
  X(result_status, PQresultStatus) \
  X(error_field, PQresultErrorField) \
  X(rows, PQntuples) \
  X(columns, PQnfields) \
  X(column_type, PQftype) \
  X(column_format, PQfformat) \
  X(is_null, PQgetisnull) \
  X(value, PQgetvalue) \
  X(length, PQgetlength) \
  X(clear, PQclear)

static bool fill(const char **error) {
  void *library = coffer_library_open("libpq.so.5", error);
  if (!library) return false;
  // Pipeline mode came with 14, so an older library lacks one of its functions.
  NAMES(COFFER_LOAD_FUNCTION)
  return true;
}

COFFER_LOADER(coffer_libpq, coffer_libpq_load)

static void count(void *argument, const struct pg_result *result) {
  const char *severity = table.error_field(result, COFFER_LIBPQ_SEVERITY);
  const char *file = table.error_field(result, COFFER_LIBPQ_SOURCE_FILE);
  // The message is in the server's language. Source: PostgreSQL, SyncRepWaitForLSN.
  if (severity && file && strcmp(severity, "WARNING") == 0 && strcmp(file, "syncrep.c") == 0) ++*(int *)argument;
}

void coffer_libpq_count_warnings(struct pg_conn *connection, int *warnings) {
  table.set_receiver(connection, count, warnings);
}
