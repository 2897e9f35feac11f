/* Idioms of programs that use a struct, none of which depends on the order of its members. */
#define _GNU_SOURCE
#include "conn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/epoll.h>
#include <stdarg.h>
static struct list_head head = { &head, &head };
static struct conn *table[64];
static const struct conn defaults = { .state = 1, .fd = -1, .name = "none" };
static void list_add(struct list_head *n, struct list_head *h) { n->next = h->next; n->prev = h; h->next->prev = n; h->next = n; }
static void list_del(struct list_head *n) { n->next->prev = n->prev; n->prev->next = n->next; }
static void logf_(const char *fmt, ...) { va_list l; va_start(l, fmt); vfprintf(stderr, fmt, l); va_end(l); }
static int conn_open(void *ctx) { struct conn *c = ctx; c->state = 2; return c->fd; }
static void conn_close(void *ctx) { struct conn *c = ctx; close(c->fd); }
static const struct ops tcp_ops = { .open = conn_open, .close = conn_close };
static const struct { const char *name; size_t offset; } options[] = {
	{ "port", offsetof(struct conn, port) }, { "fd", offsetof(struct conn, fd) },
};
static int set_option(struct conn *c, const char *name, int value)
{
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
		if (!strcmp(options[i].name, name)) { *(int *)((char *)c + options[i].offset) = value; return 0; }
	return -ENOENT;
}
struct conn *conn_new(const char *name)
{
	struct conn *c = calloc(1, sizeof(*c));
	if (!c) return NULL;
	*c = defaults;
	memcpy(c, &defaults, sizeof(defaults));
	snprintf(c->name, sizeof(c->name), "%s", name);
	strncpy(c->buf, name, sizeof(c->buf) - 1);
	pthread_mutex_init(&c->lock, NULL);
	atomic_init(&c->refs, 1);
	c->ops = &tcp_ops;
	c->user = c;
	memset(&c->addr, 0, sizeof(c->addr));
	memset(c->key, 0xff, sizeof c->key);
	c->addr.sin_family = AF_INET;
	list_add(&c->node, &head);
	return c;
}
static void *worker(void *arg)
{
	struct conn *c = arg;
	char local[256];
	pthread_mutex_lock(&c->lock);
	ssize_t n = read(c->fd, c->buf, sizeof(c->buf));
	if (n > 0) { c->bytes += n; memcpy(local, c->buf, n); send(c->fd, c->buf, n, 0); }
	for (size_t i = 0; i < sizeof(c->key); i++) c->key[i] ^= local[i];
	for (char *p = c->buf; p < c->buf + sizeof(c->buf); p++) if (*p == '\n') *p = 0;
	pthread_mutex_unlock(&c->lock);
	return c;
}
static int by_bytes(const void *a, const void *b)
{
	const struct conn *const *x = a, *const *y = b;
	return (*x)->bytes < (*y)->bytes ? -1 : (*x)->bytes > (*y)->bytes;
}
static int by_value(const void *a, const void *b)
{
	const struct conn *x = a, *y = b;
	return memcmp(x->key, y->key, sizeof(x->key));
}
int conn_bind(struct conn *c)
{
	socklen_t len = sizeof(c->addr);
	if (bind(c->fd, (struct sockaddr *)&c->addr, sizeof(c->addr)) < 0) return -1;
	return getsockname(c->fd, (struct sockaddr *)&c->addr, &len);
}
int conn_poll(int ep, struct conn *c)
{
	struct epoll_event events[8];
	c->ev.events = EPOLLIN;
	c->ev.data.ptr = c;
	epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &c->ev);
	int n = epoll_wait(ep, events, 8, -1);
	for (int i = 0; i < n; i++) { struct conn *o = events[i].data.ptr; conn_get(o); o->ready = 1; }
	return n;
}
void conn_free(struct conn *c)
{
	list_del(&c->node);
	c->ops->close(c);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
static void *xmalloc(size_t size)
{
	void *p = malloc(size);
	if (!p) abort();
	return p;
}
static char arena[4096];
static size_t arena_used;
static void *arena_get(size_t size)
{
	void *p = arena + arena_used;
	arena_used += (size + 15) & ~15ul;
	return p;
}
struct packet { char kind; int size; char data[60]; };
static int receive(int fd, FILE *file)
{
	struct conn *c = xmalloc(sizeof *c), *d = arena_get(sizeof *d);
	struct packet *p = xmalloc(sizeof *p), *q = arena_get(sizeof *q), copy;
	char *text = xmalloc(100);
	memset(c, 0, sizeof *c);
	*d = *c;
	if (read(fd, p, sizeof *p) != sizeof *p || fread(text, 1, 100, file) != 100) return -1;
	memcpy(q, p, sizeof *q);
	memcpy(&copy, text, sizeof copy);
	for (int i = 0; i < 60 && i < copy.size; i++) d->key[i & 15] = copy.data[i];
	for (int i = 0; i < 100 && i < d->fd; i++) d->name[i] = text[i];
	d->port = q->size;
	free(text);
	free(p);
	free(c);
	return d->port;
}
int main(int argc, char **argv)
{
	receive(0, stdin);
	struct conn *c = conn_new(argv[0]), *it, local = { 0 }, arr[4] = { { 0 } }, *grown = NULL;
	pthread_t t;
	void *res;
	pthread_create(&t, NULL, worker, c);
	pthread_join(t, &res);
	struct conn *back = res;
	logf_("%s %p %lu\n", back->name, (void *)back, (unsigned long)back->bytes);
	table[((uintptr_t)c >> 6) % 64] = c;
	qsort(table, 64, sizeof(table[0]), by_bytes);
	qsort(arr, 4, sizeof(arr[0]), by_value);
	list_for_each_entry(it, &head, node) set_option(it, "fd", argc);
	grown = realloc(grown, 10 * sizeof(*grown));
	memset(grown, 0, 10 * sizeof(*grown));
	grown[9] = local;
	if (memcmp(&arr[0], &arr[1], sizeof(arr[0])) == 0) puts("same");
	for (struct conn *p = arr; p < arr + 4; p++) p->next = p + 1;
	atomic_store(&c->refs, 2);
	while (atomic_load(&c->refs) > 1) if (atomic_fetch_sub(&c->refs, 1) == 1) break;
	struct conn **pp = &table[0];
	while (*pp && (*pp)->next) pp = &(*pp)->next;
	free(grown);
	conn_free(c);
	return 0;
}
