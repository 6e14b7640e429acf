#include "engine/cpu/threads.h"

#include <signal.h>
#include <stdint.h>

#include <omp.h>

#include "base/program.h"

/* Of the calling thread, in bytes. */
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
    if (least >= PROGRAM_STACK_KIB * 1024)
        return STATUS_OK;
    return error_set(
        e, STATUS_FAILED,
        "the threads of OpenMP have only %zu KiB of stack (OMP_STACKSIZE), must have %d",
        least / 1024, PROGRAM_STACK_KIB);
}
