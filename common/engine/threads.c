#include "engine/threads.h"

#include <signal.h>

#include <omp.h>

void threads_start(int threads)
{
    sigset_t all, before;
    int present = 0;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
#pragma omp parallel num_threads(threads) reduction(+ : present)
    present += omp_get_num_threads() > 0;  // something that no compiler leaves out
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}
