#pragma once

/// The commit that the program was built from, as the variable COFFER_COMMIT said at the build; empty where it said nothing.
const char *_Nonnull coffer_commit(void);
