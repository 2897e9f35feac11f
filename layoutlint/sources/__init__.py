"""What C code does: uses of fields, allocations, locks, threads, and what depends on an order of members."""
