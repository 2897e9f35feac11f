/* The fields of optimistic_spin_node in Linux 6.6 on 64-bit machines; per-CPU, and aligned to a line. */
struct optimistic_spin_node {
	void *next, *prev;
	int locked;
	int cpu;
} __attribute__((aligned(64)));
