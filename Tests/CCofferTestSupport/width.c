#include "CCofferTestSupport.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Swift Testing reads the variable after this; without it all tests begin at once. A width set by the caller stays.
__attribute__((constructor)) static void bound(void) {
  char width[24];
  snprintf(width, sizeof width, "%ld", 2 * sysconf(_SC_NPROCESSORS_ONLN));
  setenv(COFFER_TEST_WIDTH, width, 0);
}
