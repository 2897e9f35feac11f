#include "ring.h"

struct pair { struct ring *ring; entry_t entry; } pair;
extern struct ring first;
struct wide *also;

int two(void) { return (int)first.head + (pair.ring ? 1 : 0); }
