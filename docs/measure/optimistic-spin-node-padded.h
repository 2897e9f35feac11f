/* The same with `cpu` on a line of its own, as a patch of December 2023 has it. */
struct optimistic_spin_node {
	void *next, *prev;
	int locked;
	int cpu __attribute__((aligned(64)));
} __attribute__((aligned(64)));
