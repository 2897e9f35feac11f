#include "ring.h"

struct ring first;
struct wide wide;
entry_t entries[2];

int one(void) { return first.mode; }
