/* The fields of rw_semaphore in Linux 5.2 on 64-bit machines, with CONFIG_RWSEM_SPIN_ON_OWNER. */
struct rw_semaphore {
	long count;
	void *owner;
	int osq;
	int wait_lock;
	struct { void *next, *prev; } wait_list;
};
