/* Measures how fast cores access words of objects. plan.h has the numbers: offsets, widths, bases, times.
 * It reads no file and writes only numbers, to stdout. With an argument it prints the addresses instead. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Each load waits for the one before, as code does that uses the value; else a core does many at once. */
#define LOAD(bits, word) (seen += *(volatile uint##bits##_t *)(void *)((word) + (seen & none)))
#define STORE(bits, word) __atomic_store_n((uint##bits##_t *)(void *)(word), (uint##bits##_t)times, __ATOMIC_RELAXED)
#define ADD(bits, word) ((void)__atomic_fetch_add((uint##bits##_t *)(void *)(word), 1, __ATOMIC_RELAXED))
#define LOCK(bits, word)                                                                                     \
	do {                                                                                                     \
		uint##bits##_t is_free = 0, *lock = (void *)(word);                                                  \
		if (__atomic_compare_exchange_n(lock, &is_free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))           \
			__atomic_store_n(lock, 0, __ATOMIC_RELEASE);                                                     \
	} while (0)
#define ACCESS(operation, bits, offset) operation(bits, object + (offset));
#define PRINT(operation, bits, offset) print_word(cell, thread, #operation, bits, object + (offset));

/* One role: its accesses, `times` times, with a pause of `nanoseconds` after each. */
#define ROLE(number)                                                                                         \
	static void access_##number(unsigned char *start, unsigned long times, unsigned long nanoseconds)        \
	{                                                                                                        \
		unsigned long seen = 0, none = nothing;                                                              \
                                                                                                             \
		for (; times; times--) {                                                                             \
			unsigned char *object = OBJECT(start);                                                           \
			WORDS_##number(ACCESS)                                                                           \
			pause_for(nanoseconds + (seen & none));                                                          \
		}                                                                                                    \
	}                                                                                                        \
	static void print_##number(unsigned cell, unsigned thread, unsigned char *object)                        \
	{                                                                                                        \
		WORDS_##number(PRINT)                                                                                \
	}

typedef void accesses(unsigned char *start, unsigned long times, unsigned long nanoseconds);
typedef void printer(unsigned cell, unsigned thread, unsigned char *object);
struct part { accesses *access; printer *print; unsigned long start, nanoseconds; };
static unsigned char *arena_start;
static volatile unsigned long nothing; /* 0, which the compiler does not know */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void pause_for(unsigned long nanoseconds)
{
	uint64_t begun;

	if (!nanoseconds)
		return;
	begun = clock_ns(CLOCK_MONOTONIC);
	while (clock_ns(CLOCK_MONOTONIC) - begun < nanoseconds)
		;
}

static void print_word(unsigned cell, unsigned thread, const char *operation, unsigned bits, unsigned char *word)
{
	printf("%u %u %s %u %lu\n", cell, thread, operation, bits, (unsigned long)(word - arena_start));
}

#include "plan.h"

static _Alignas(4096) unsigned char arena[ARENA_BYTES];
static const struct part cells[CELLS][THREADS] = { PARTS };
static const unsigned cores[THREADS] = { CORES };

#define WARM_NS 20000
#define LINE 256 /* no processor has longer ones */
struct sample { unsigned cell, round; unsigned long times[THREADS]; uint64_t start[THREADS], end[THREADS], used[THREADS]; };

static _Alignas(LINE) struct sample samples[MOST_SAMPLES];
static _Alignas(LINE) volatile struct { unsigned cell, is_over; } next;
static _Alignas(LINE) unsigned waiting;
static _Alignas(LINE) unsigned turn;
static _Alignas(LINE) struct { unsigned long times; uint64_t start, end, used; } results[THREADS][4];
static _Alignas(LINE) uint64_t random_state = SEED;

/* Waits for all threads. Yields at times, since another process may have taken the other core. */
static void meet(void)
{
	unsigned own = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&waiting, 1, __ATOMIC_ACQ_REL) == THREADS) {
		__atomic_store_n(&waiting, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&turn, own + 1, __ATOMIC_RELEASE);
		return;
	}
	for (unsigned tries = 1; __atomic_load_n(&turn, __ATOMIC_ACQUIRE) == own; tries++)
		if (tries % 4096 == 0)
			sched_yield();
}

/* Does the accesses of a thread for one window. */
static void measure(unsigned thread, const struct part *part)
{
	unsigned long done = 0, times = 1;
	unsigned char *start = arena + part->start;
	uint64_t used, first, now, before;

	now = first = clock_ns(CLOCK_MONOTONIC);
	for (; now - first < WARM_NS; now = clock_ns(CLOCK_MONOTONIC)) /* by time: all threads begin together */
		part->access(start, 1, 0);
	used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	now = first = clock_ns(CLOCK_MONOTONIC);
	while (now - first < WINDOW_NS) {
		part->access(start, times, part->nanoseconds);
		done += times;
		before = now;
		now = clock_ns(CLOCK_MONOTONIC);
		if (now - before < 5000 && times < 4096)
			times *= 2;
		else if (now - before > 20000 && times > 1)
			times /= 2;
	}
	results[thread]->used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - used;
	results[thread]->times = done;
	results[thread]->start = first;
	results[thread]->end = now;
}

static void pin(unsigned thread)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cores[thread], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(10);
}

static void *work(void *argument)
{
	unsigned thread = *(const unsigned *)argument;

	pin(thread);
	for (;;) {
		meet();
		if (next.is_over)
			return NULL;
		measure(thread, &cells[next.cell][thread]);
		meet();
	}
}

static unsigned draw(unsigned below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state % below);
}

static void shuffle(unsigned *order)
{
	for (unsigned i = 0; i < CELLS; i++)
		order[i] = i;
	for (unsigned i = CELLS - 1; i; i--) {
		unsigned other = draw(i + 1), held = order[i];

		order[i] = order[other];
		order[other] = held;
	}
}

static void take(struct sample *sample, unsigned cell, unsigned round)
{
	next.cell = cell;
	meet();
	measure(0, &cells[cell][0]);
	meet();
	sample->cell = cell;
	sample->round = round;
	for (unsigned thread = 0; thread < THREADS; thread++) {
		sample->times[thread] = results[thread]->times;
		sample->start[thread] = results[thread]->start;
		sample->end[thread] = results[thread]->end;
		sample->used[thread] = results[thread]->used;
	}
}

/* Returns the number of samples: in each round every cell in a random order, again until its time is over. */
static unsigned take_all(void)
{
	static unsigned order[CELLS];
	uint64_t begun = clock_ns(CLOCK_MONOTONIC);
	unsigned taken = 0;

	for (unsigned round = 0; round < ROUNDS; round++)
		do {
			shuffle(order);
			for (unsigned i = 0; i < CELLS && taken < MOST_SAMPLES; i++)
				take(&samples[taken++], order[i], round);
		} while (taken < MOST_SAMPLES && clock_ns(CLOCK_MONOTONIC) - begun < TOTAL_NS / ROUNDS * (round + 1));
	return taken;
}

static void limit(int resource, rlim_t most)
{
	struct rlimit limits = { most, most };

	setrlimit(resource, &limits);
}

static void print_addresses(void)
{
	for (unsigned cell = 0; cell < CELLS; cell++)
		for (unsigned thread = 0; thread < THREADS; thread++)
			cells[cell][thread].print(cell, thread, arena + cells[cell][thread].start);
}

int main(int count, char **arguments)
{
	static unsigned numbers[THREADS];
	pthread_t threads[THREADS];
	unsigned taken;

	(void)arguments;
	arena_start = arena;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(MOST_SECONDS);
	limit(RLIMIT_CPU, MOST_SECONDS * THREADS);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_AS, MOST_BYTES);
	if (count > 1) {
		print_addresses();
		return fflush(stdout) != 0;
	}
	pin(0);
	for (unsigned long i = 0; i < sizeof(arena); i += 4096)
		*(volatile unsigned char *)&arena[i] = 0;
	for (unsigned thread = 1; thread < THREADS; thread++) {
		numbers[thread] = thread;
		if (pthread_create(&threads[thread], NULL, work, &numbers[thread]))
			return 11;
	}
	taken = take_all();
	next.is_over = 1;
	meet();
	for (unsigned thread = 1; thread < THREADS; thread++)
		pthread_join(threads[thread], NULL);
	for (unsigned i = 0; i < taken; i++)
		for (unsigned thread = 0; thread < THREADS; thread++)
			printf("%u %u %u %lu %llu %llu %llu\n", samples[i].cell, samples[i].round, thread, samples[i].times[thread],
			       (unsigned long long)samples[i].start[thread], (unsigned long long)samples[i].end[thread],
			       (unsigned long long)samples[i].used[thread]);
	return fflush(stdout) != 0;
}
