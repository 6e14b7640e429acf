#include "engine/cpu/threads.h"

#include <omp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/program.h"

/* ---- the threads of OpenMP ------------------------------------------------------------------ */

/* Returns the stack size of the calling thread in bytes. */
static size_t stack_size(void)
{
    pthread_attr_t attributes;
    size_t bytes = SIZE_MAX;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return bytes;
    (void)pthread_attr_getstacksize(&attributes, &bytes);
    (void)pthread_attr_destroy(&attributes);
    return bytes;
}

enum status threads_start(int64_t *threads, struct error *e)
{
    if (*threads == 0)
        *threads = omp_get_max_threads();
    sigset_t all, before;
    size_t least = SIZE_MAX;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
#pragma omp parallel num_threads((int)*threads) reduction(min : least)
    if (omp_get_thread_num())  // the first is the calling one
        least = stack_size();
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    program_set_threads((int)*threads);
    if (!getenv("OMP_SCHEDULE"))  // the default of loops with schedule(runtime) differs otherwise
        omp_set_schedule(omp_sched_dynamic, 1);
    if (least >= PROGRAM_STACK_KIB * 1024)
        return STATUS_OK;
    return error_set(e, STATUS_FAILED,
                     "the stack of OpenMP threads is too small (OMP_STACKSIZE, got %zu KiB); "
                     "expected at least %d KiB",
                     least / 1024, PROGRAM_STACK_KIB);
}

enum status threads_start_of_sink(int64_t *threads, struct error *e)
{
    const int most = omp_get_max_threads();
    if (*threads == 0)
        *threads = most < PROGRAM_THREADS_OF_SINK ? most : PROGRAM_THREADS_OF_SINK;
    return threads_start(threads, e);
}

static double wake_ns = 6000;  // CPU time of waking one thread and of waiting for it

int threads_for(int threads, double work_ns)
{
    return work_ns < wake_ns * (threads - 1) ? 1 : threads;
}

void threads_set_wake_ns(double ns)
{
    wake_ns = ns;
}

/* ---- bands of rows -------------------------------------------------------------------------- */

/* Returns true if all loops are to be divided equally between the threads. */
static bool divides_equally(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    return ((unsigned)kind & ~(unsigned)omp_sched_monotonic) == (unsigned)omp_sched_static;
}

int64_t bands_takes(const struct bands *b)
{
    return (b->rows + b->at_once - 1) / b->at_once;
}

void bands_open(struct bands *b, int64_t rows, int threads, int64_t of)
{
    const int64_t share = rows / threads / BAND_TAKES;
    const int64_t least = share < 1 ? 1 : share > BAND_ROWS ? BAND_ROWS : share;
    *b = (struct bands){.rows = rows, .at_once = (least + of - 1) / of * of, .count = threads};
    b->fixed = divides_equally();
    b->band = mem_array((size_t)threads, sizeof *b->band);
    const int64_t takes = bands_takes(b);
    for (int i = 0; i < threads; i++) {
        const int64_t end = takes * (i + 1) / threads * b->at_once;
        atomic_init(&b->band[i].next, takes * i / threads * b->at_once);
        b->band[i].end = end < rows ? end : rows;
    }
}

void bands_close(struct bands *b)
{
    mem_free(b->band);
    b->band = NULL;
}

/* Assigns the next portion of a thread, if each of b->count threads gets every b->count-th one. */
static bool take_fixed(struct bands *b, int thread, int64_t *first, int64_t *end)
{
    const int64_t number = thread + b->count * b->band[thread].turns++;
    *first = number * b->at_once;
    *end = *first + b->at_once < b->rows ? *first + b->at_once : b->rows;
    return *first < b->rows;
}

bool bands_take(struct bands *b, int thread, int64_t *first, int64_t *end)
{
    if (b->fixed)
        return take_fixed(b, thread, first, end);
    for (int i = 0; i < b->count; i++) {
        struct band *band = &b->band[(thread + i) % b->count];
        if (atomic_load_explicit(&band->next, memory_order_relaxed) >= band->end)
            continue;
        *first = atomic_fetch_add_explicit(&band->next, b->at_once, memory_order_relaxed);
        *end = *first + b->at_once < band->end ? *first + b->at_once : band->end;
        if (*first < *end)
            return true;
    }
    return false;
}
