/* The structs that the seeds are made of: one of everything that a member can be, on every target. */
struct slot {
	short low, high;
	char bytes[3];
};

enum state { IDLE, BUSY = 70000 };

struct ring {
	long head;
	long tail;
	unsigned int flags : 3, mode : 5, : 0;
	union {
		int word;
		struct slot parts;
	};
	struct slot slots[2][3];
	struct ring *next;
	struct later *later;
	void (*wake)(struct ring *, const char *, ...);
	enum state state;
	char name[];
};

struct wide {
	long hot __attribute__((aligned(256)));
	long cold __attribute__((aligned(256)));
};

typedef struct {
	char tag;
	const volatile long *value;
	union { double real; unsigned char raw[8]; } as;
} entry_t;
