/* The ring of ring.h with a line for each side. */

struct ring {
	void **slots;               /* set once */
	unsigned long mask;
	_Alignas(64) unsigned long head;  /* written by the producer, read by the consumer */
	unsigned long cached_tail;        /* the producer's own copy */
	_Alignas(64) unsigned long tail;  /* written by the consumer, read by the producer */
	unsigned long cached_head;        /* the consumer's own copy */
};
