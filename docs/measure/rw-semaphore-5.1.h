/* The fields of rw_semaphore in Linux 5.1 on 64-bit machines, with CONFIG_RWSEM_SPIN_ON_OWNER. */
struct rw_semaphore {
	long count;
	struct { void *next, *prev; } wait_list;
	int wait_lock;
	int osq;
	void *owner;
};
