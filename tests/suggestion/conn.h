#ifndef CONN_H
#define CONN_H
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdatomic.h>
#include <netinet/in.h>
#include <sys/epoll.h>
struct list_head { struct list_head *next, *prev; };
#define container_of(ptr, type, member) ({ const typeof(((type *)0)->member) *__mptr = (ptr); (type *)((char *)__mptr - offsetof(type, member)); })
#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_for_each_entry(pos, head, member) for (pos = list_entry((head)->next, typeof(*pos), member); &pos->member != (head); pos = list_entry(pos->member.next, typeof(*pos), member))
struct ops { int (*open)(void *ctx); void (*close)(void *ctx); };
struct conn {
	char state;
	struct list_head node;
	char name[13];
	pthread_mutex_t lock;
	_Bool closed;
	atomic_int refs;
	struct sockaddr_in addr;
	char flag;
	unsigned char key[16];
	uint64_t bytes;
	short port;
	const struct ops *ops;
	int fd;
	char buf[100];
	unsigned ready : 1, dirty : 1;
	void *user;
	struct epoll_event ev;
	struct conn *next;
};
static inline void conn_get(struct conn *c) { atomic_fetch_add(&c->refs, 1); }
struct conn *conn_new(const char *name);
void conn_free(struct conn *c);
#endif
