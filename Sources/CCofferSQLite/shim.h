#ifndef COFFER_SQLITE_SHIM_H
#define COFFER_SQLITE_SHIM_H
#include <sqlite3.h>

// sqlite3_db_config is variadic, which Swift cannot call. Every switch Coffer sets takes (int, int *).
static inline int coffer_sqlite3_db_config_switch(sqlite3 *db, int option, int on, int *now) {
  return sqlite3_db_config(db, option, on, now);
}

// SQLITE_TRANSIENT is a cast of -1 to a function pointer, which the importer drops: SQLite copies the bytes at once.
static inline int coffer_sqlite3_bind_blob_copy(sqlite3_stmt *s, int i, const void *p, sqlite3_uint64 n) {
  return sqlite3_bind_blob64(s, i, p, n, SQLITE_TRANSIENT);
}

// Codes that are made of others, which the importer drops.
static const int coffer_sqlite3_ioerr_read = SQLITE_IOERR_READ;
static const int coffer_sqlite3_ioerr_corruptfs = SQLITE_IOERR_CORRUPTFS;

#endif
