/* A queue between one producer and one consumer that run on different CPUs. */

struct ring {
	void **slots;               /* set once */
	unsigned long mask;
	unsigned long head;         /* written by the producer, read by the consumer */
	unsigned long cached_tail;  /* the producer's own copy */
	unsigned long tail;         /* written by the consumer, read by the producer */
	unsigned long cached_head;  /* the consumer's own copy */
};
