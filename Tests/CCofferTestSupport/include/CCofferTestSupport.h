#include <stdbool.h>

/// Limits how many tests run at once to twice the number of processors, so that the time that a test takes is its own.
#define COFFER_TEST_WIDTH "SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"

/// From here on, also in programs that this process becomes, requests to hide from its own user are confirmed but not done:
/// /proc and strace(1) then show an ordinary user the same as root.
bool coffer_test_stay_visible(void);
