// Libraries that only some people use: each is loaded when it is first asked for, and costs nobody else anything.
#pragma once
#include "commit.h"
#include "libcurl.h"
#include "libgcrypt.h"
#include "libpq.h"
#include "libzip.h"
#include "sdbus.h"
