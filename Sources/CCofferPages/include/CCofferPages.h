#pragma once

/// The pages of the catalogue that `coffer help` quotes, one after another: an installed program has no other copy.
const char *_Nonnull coffer_pages(void);
