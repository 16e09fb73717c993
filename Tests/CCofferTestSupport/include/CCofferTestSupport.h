#include <stdbool.h>

/// Where it says how many tests may run at once: twice as many as there are processors, so that the time that a test takes is its own.
#define COFFER_TEST_WIDTH "SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"

/// From here on, and in the programs that this process becomes, a request to be hidden from its own user is answered and not done: /proc
/// and strace(1) then show an ordinary user what they show root.
bool coffer_test_stay_visible(void);
