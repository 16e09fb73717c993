// The used parts of libpq 14 and newer, PostgreSQL's client library; see "libpq — C Library" of its documentation.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct pg_conn;
struct pg_result;

/// `PQconninfoOption` of libpq-fe.h.
typedef struct {
  char *_Nullable keyword;
  char *_Nullable envvar;
  char *_Nullable compiled;
  char *_Nullable val;
  char *_Nullable label;
  char *_Nullable dispchar;
  int dispsize;
} coffer_libpq_option;

/// `PGnotify` of libpq-fe.h.
typedef struct coffer_libpq_notify {
  char *_Nullable relname;
  int be_pid;
  char *_Nullable extra;
  struct coffer_libpq_notify *_Nullable next;
} coffer_libpq_notify;

/// `PQnoticeReceiver` of libpq-fe.h.
typedef void (*coffer_libpq_receiver)(void *_Nullable argument, const struct pg_result *_Nonnull result);

typedef struct {
  int (*_Nonnull library_version)(void);
  coffer_libpq_option *_Nullable (*_Nonnull parse)(
      const char *_Nonnull connection, char *_Nullable *_Nullable error);
  coffer_libpq_option *_Nullable (*_Nonnull options)(struct pg_conn *_Nonnull connection);
  void (*_Nonnull free_options)(coffer_libpq_option *_Nullable options);
  void (*_Nonnull free_memory)(void *_Nullable memory);

  struct pg_conn *_Nullable (*_Nonnull connect)(
      const char *_Nullable const *_Nonnull keywords, const char *_Nullable const *_Nonnull values, int expands);
  unsigned (*_Nonnull connect_poll)(struct pg_conn *_Nonnull connection);
  void (*_Nonnull finish)(struct pg_conn *_Nullable connection);
  unsigned (*_Nonnull status)(const struct pg_conn *_Nonnull connection);
  unsigned (*_Nonnull transaction_status)(const struct pg_conn *_Nonnull connection);
  int (*_Nonnull socket)(const struct pg_conn *_Nonnull connection);
  int (*_Nonnull backend_pid)(const struct pg_conn *_Nonnull connection);
  char *_Nullable (*_Nonnull error_message)(const struct pg_conn *_Nonnull connection);
  int (*_Nonnull ssl_in_use)(struct pg_conn *_Nonnull connection);
  char *_Nullable (*_Nonnull host)(const struct pg_conn *_Nonnull connection);

  int (*_Nonnull set_nonblocking)(struct pg_conn *_Nonnull connection, int isNonblocking);
  int (*_Nonnull enter_pipeline)(struct pg_conn *_Nonnull connection);
  int (*_Nonnull sync)(struct pg_conn *_Nonnull connection);
  int (*_Nonnull flush)(struct pg_conn *_Nonnull connection);
  int (*_Nonnull consume)(struct pg_conn *_Nonnull connection);
  int (*_Nonnull is_busy)(struct pg_conn *_Nonnull connection);
  struct pg_result *_Nullable (*_Nonnull result)(struct pg_conn *_Nonnull connection);
  int (*_Nonnull send_prepare)(
      struct pg_conn *_Nonnull connection, const char *_Nonnull name, const char *_Nonnull sql, int count,
      const unsigned *_Nullable types);
  int (*_Nonnull send_prepared)(
      struct pg_conn *_Nonnull connection, const char *_Nonnull name, int count,
      const char *_Nullable const *_Nullable values, const int *_Nullable lengths, const int *_Nullable formats,
      int resultFormat);
  int (*_Nonnull send_parameters)(
      struct pg_conn *_Nonnull connection, const char *_Nonnull sql, int count, const unsigned *_Nullable types,
      const char *_Nullable const *_Nullable values, const int *_Nullable lengths, const int *_Nullable formats,
      int resultFormat);
  coffer_libpq_notify *_Nullable (*_Nonnull notifies)(struct pg_conn *_Nonnull connection);
  coffer_libpq_receiver _Nullable (*_Nonnull set_receiver)(
      struct pg_conn *_Nonnull connection, coffer_libpq_receiver _Nullable receiver, void *_Nullable argument);

  unsigned (*_Nonnull result_status)(const struct pg_result *_Nullable result);
  char *_Nullable (*_Nonnull error_field)(const struct pg_result *_Nonnull result, int field);
  int (*_Nonnull rows)(const struct pg_result *_Nonnull result);
  int (*_Nonnull columns)(const struct pg_result *_Nonnull result);
  unsigned (*_Nonnull column_type)(const struct pg_result *_Nonnull result, int column);
  int (*_Nonnull column_format)(const struct pg_result *_Nonnull result, int column);
  int (*_Nonnull is_null)(const struct pg_result *_Nonnull result, int row, int column);
  char *_Nullable (*_Nonnull value)(const struct pg_result *_Nonnull result, int row, int column);
  int (*_Nonnull length)(const struct pg_result *_Nonnull result, int row, int column);
  void (*_Nonnull clear)(struct pg_result *_Nullable result);
} coffer_libpq;

/// `ConnStatusType`, `PostgresPollingStatusType`, `ExecStatusType`, `PGTransactionStatusType`; `PG_DIAG_SEVERITY_NONLOCALIZED`,
/// `PG_DIAG_SQLSTATE`, `PG_DIAG_SOURCE_FILE`.
enum {
  COFFER_LIBPQ_CONNECTION_OK = 0,
  COFFER_LIBPQ_POLLING_FAILED = 0,
  COFFER_LIBPQ_POLLING_READING = 1,
  COFFER_LIBPQ_POLLING_WRITING = 2,
  COFFER_LIBPQ_POLLING_OK = 3,
  COFFER_LIBPQ_COMMAND_OK = 1,
  COFFER_LIBPQ_TUPLES_OK = 2,
  COFFER_LIBPQ_FATAL_ERROR = 7,
  COFFER_LIBPQ_PIPELINE_SYNC = 10,
  COFFER_LIBPQ_PIPELINE_ABORTED = 11,
  COFFER_LIBPQ_SEVERITY = 'V',
  COFFER_LIBPQ_SQLSTATE = 'C',
  COFFER_LIBPQ_SOURCE_FILE = 'F',
};

/// The library; NULL if it is not installed or older than 14, with the reason in `error`.
const coffer_libpq *_Nullable coffer_libpq_load(const char *_Nullable *_Nonnull error);

/// Makes `connection` count in `warnings` the server's warnings that its standby may lack a commit, and print nothing. No
/// callback.
void coffer_libpq_count_warnings(struct pg_conn *_Nonnull connection, int *_Nonnull warnings);
