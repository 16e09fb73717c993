#ifndef COFFER_ALLOCATIONS_H
#define COFFER_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/// How many blocks this thread has asked the C library for: what malloc(3), calloc(3), realloc(3) of no block, and their aligned
/// relatives were called for since the thread began.
uint64_t coffer_allocations(void);

/// Whether allocations are counted here: with glibc, whose allocator can be called by another name.
bool coffer_counts_allocations(void);

#endif
