// Optional libraries, each loaded on first use.
#pragma once
#include "commit.h"
#include "libcurl.h"
#include "libgcrypt.h"
#include "libpq.h"
#include "libz.h"
#include "libzip.h"
#include "sdbus.h"
