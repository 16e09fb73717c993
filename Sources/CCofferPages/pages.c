#include "CCofferPages.h"

// The directive is C of 2023, which clang knows in every version of C.
#pragma clang diagnostic ignored "-Wc23-extensions"

// A heading without a text ends the last section of each page.
static const char pages[] = {
#embed "../Coffer/Coffer.docc/CommandLine.md" suffix(, '\n', '#', '#', ' ', '\n',)
#embed "../Coffer/Coffer.docc/CommandLineAgent.md" suffix(, '\n', '#', '#', ' ', '\n',)
#embed "../Coffer/Coffer.docc/CommandLineCredentials.md" suffix(, '\n', '#', '#', ' ', '\n',)
#embed "../Coffer/Coffer.docc/CommandLineRun.md" suffix(, '\n', '#', '#', ' ', '\n',)
#embed "../Coffer/Coffer.docc/CommandLineValues.md" suffix(, '\n', '#', '#', ' ', '\n',)
#embed "../Coffer/Coffer.docc/CommandLineVault.md" suffix(, 0)
};

const char *coffer_pages(void) { return pages; }
