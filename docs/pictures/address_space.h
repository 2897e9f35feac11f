/* The fields of struct address_space in Linux 7.2, with types of the same sizes. */

struct xarray {
	unsigned int xa_lock, xa_flags;
	void *xa_head;
};

struct rw_semaphore {
	long count, owner;
	unsigned int osq, wait_lock;
	void *first_waiter;
};

struct rb_root_cached {
	void *rb_node, *rb_leftmost;
};

struct address_space {
	void *host;
	struct xarray i_pages;
	struct rw_semaphore invalidate_lock;
	unsigned int gfp_mask;
	int i_mmap_writable;
	struct rb_root_cached i_mmap; /* layoutlint: hot-write */
	unsigned long nrpages;
	unsigned long writeback_index;
	const void *a_ops;
	unsigned long flags;
	unsigned int wb_err;
	unsigned int i_private_lock;
	struct rw_semaphore i_mmap_rwsem; /* layoutlint: hot-write, contended, separate(i_mmap) -- CPUs wait for it */
};
