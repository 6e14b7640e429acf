/*
 * A thread that does one piece of work at a time, while its owner does something else.
 *
 * All functions are for one thread, the owner.  An errand that is all zero has no thread yet: the
 * first errand_begin starts it.
 */
#ifndef BRAGG_BASE_ERRAND_H
#define BRAGG_BASE_ERRAND_H

#include <pthread.h>
#include <stdbool.h>

struct errand {
    pthread_t thread;
    pthread_mutex_t mutex;   // guards the members below
    pthread_cond_t changed;  // wakes both threads
    bool open;               // the thread exists
    bool busy;               // the work was begun and is not finished
    bool closing;            // the thread is to end
    void (*work)(void *argument);
    void *argument;
};

/* Begins work(argument) in the thread.  Waits until the work before is finished.  If the system has
 * no thread for it, does the work before it returns. */
void errand_begin(struct errand *r, void (*work)(void *argument), void *argument);

/* Waits until the work is finished.  What the work has stored is visible afterwards.  Does nothing
 * if no work was begun. */
void errand_wait(struct errand *r);

/* Waits until the work is finished, and ends the thread.  *r is all zero afterwards. */
void errand_close(struct errand *r);

#endif
