#pragma once

/// The commit of the build, from the variable COFFER_COMMIT; empty if it was not set.
const char *_Nonnull coffer_commit(void);
