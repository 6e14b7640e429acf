#include "base/errand.h"

#include "base/program.h"

static void *run(void *errand)
{
    struct errand *r = errand;
    (void)pthread_mutex_lock(&r->mutex);
    while (true) {
        while (!r->busy && !r->closing)
            (void)pthread_cond_wait(&r->changed, &r->mutex);
        if (!r->busy)
            break;
        (void)pthread_mutex_unlock(&r->mutex);
        r->work(r->argument);  // the owner changes neither while the work is busy
        (void)pthread_mutex_lock(&r->mutex);
        r->busy = false;
        (void)pthread_cond_broadcast(&r->changed);
    }
    (void)pthread_mutex_unlock(&r->mutex);
    return NULL;
}

static bool open_thread(struct errand *r)
{
    if (r->open)
        return true;
    *r = (struct errand){0};
    (void)pthread_mutex_init(&r->mutex, NULL);
    (void)pthread_cond_init(&r->changed, NULL);
    r->open = program_thread(&r->thread, NULL, run, r) == 0;
    if (!r->open) {
        (void)pthread_cond_destroy(&r->changed);
        (void)pthread_mutex_destroy(&r->mutex);
    }
    return r->open;
}

void errand_begin(struct errand *r, void (*work)(void *argument), void *argument)
{
    if (!open_thread(r)) {
        work(argument);
        return;
    }
    errand_wait(r);
    (void)pthread_mutex_lock(&r->mutex);
    r->work = work;
    r->argument = argument;
    r->busy = true;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->mutex);
}

void errand_wait(struct errand *r)
{
    if (!r->open)
        return;
    (void)pthread_mutex_lock(&r->mutex);
    while (r->busy)
        (void)pthread_cond_wait(&r->changed, &r->mutex);
    (void)pthread_mutex_unlock(&r->mutex);
}

void errand_close(struct errand *r)
{
    if (!r->open)
        return;
    (void)pthread_mutex_lock(&r->mutex);
    r->closing = true;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->mutex);
    (void)pthread_join(r->thread, NULL);
    (void)pthread_cond_destroy(&r->changed);
    (void)pthread_mutex_destroy(&r->mutex);
    *r = (struct errand){0};
}
