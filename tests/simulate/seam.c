/* Replacements of functions through which the real programs reach the outside world.  The linker
 * uses each of them instead of the function of that name (--wrap). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "base/log.h"
#include "control/stream.h"
#include "guests.h"
#include "process.h"
#include "world.h"

enum { EVENT_DESCRIPTOR = 1 << 20 };  // of every exchange: no real one is as large

int __wrap_clock_gettime(clockid_t which, struct timespec *now);
uint64_t __wrap_clock_ns(void);
int __wrap_eventfd(unsigned value, int flags);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
int __wrap_close(int file);
pid_t __wrap_getpid(void);
bool __wrap_endpoint_is_refused(const char *endpoint);
void __wrap_endpoint_remove(const char *endpoint);
void __wrap_restart(struct member *me);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
void __wrap_outlaw(struct stream *s, struct peer *p, const char *reason, ...)
    __attribute__((format(printf, 3, 4)));
void __real_outlaw(struct stream *s, struct peer *p, const char *reason, ...)
    __attribute__((format(printf, 3, 4)));
void __wrap_log_line(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* That of a process. */
uint64_t __wrap_clock_ns(void)
{
    const struct process *p = world.self;
    if (!p)
        return world.now_ns;
    const uint64_t faster_ns = p->fast_ppm ? world.now_ns * p->fast_ppm / 1000000 : 0;
    return p->ahead_ns + world.now_ns + faster_ns;
}

/* Computing takes no CPU time, which is all that is asked of other clocks. */
int __wrap_clock_gettime(clockid_t which, struct timespec *now)
{
    (void)which;
    *now = (struct timespec){0};
    return 0;
}

int __wrap_eventfd(unsigned value, int flags)
{
    (void)value, (void)flags;
    return EVENT_DESCRIPTOR;
}

/* To an eventfd, which nothing else writes to. */
ssize_t __wrap_write(int file, const void *bytes, size_t size)
{
    (void)file, (void)bytes;
    world.self->woken = true;
    process_wake(world.self);
    return (ssize_t)size;
}

int __wrap_close(int file)
{
    (void)file;
    return 0;
}

/* The library that counts executed lines calls getpid at the end, when no process is running. */
pid_t __wrap_getpid(void)
{
    return (pid_t)(world.self ? world.self->pid : 0);
}

/* There is one thread. */
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
    (void)condition;
    return 0;
}

bool __wrap_endpoint_is_refused(const char *endpoint)
{
    (void)endpoint;
    return false;
}

void __wrap_endpoint_remove(const char *endpoint)
{
    (void)endpoint;
}

/* The process executes its own program again. */
void __wrap_restart(struct member *me)
{
    tell("begins anew");
    world.self->renewed = true;
    world.self->former = me->run->id;
    me->run->spoken = true;
    run_leave(me->run, "");
}

/* Whoever has a place in the pipeline keeps the rules. */
void __wrap_outlaw(struct stream *s, struct peer *p, const char *reason, ...)
{
    va_list args;
    char why[sizeof world.self->said];
    va_start(args, reason);
    (void)vsnprintf(why, sizeof why, reason, args);
    va_end(args);
    if (!guests_is_stranger(p->hello.stage))
        violate("%s is put out: %s", p->hello.stage, why);
    __real_outlaw(s, p, "%s", why);
}

/* What a process says is a part of the story. */
void __wrap_log_line(enum log_level level, const char *format, ...)
{
    va_list args;
    char line[sizeof world.self->said];
    if (!world.story && level != LOG_ERROR)
        return;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    tell("says: %s", line);
    if (level == LOG_ERROR)
        memcpy(world.self->said, line, sizeof line);
}
