#include "base/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"

void program_open(const char *name)
{
    struct rlimit stack;
    log_open(name);
    (void)prctl(PR_SET_NAME, program_invocation_short_name);  // else "exe" after a restart
    (void)signal(SIGCHLD, SIG_DFL);  // if ignored, no child has an exit status
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= PROGRAM_STACK_KIB * 1024)
        return;
    log_line(
        LOG_ERROR,
        "the limit of the stack is too small (ulimit -s, got %d KiB); expected at least %d KiB",
        (int)(stack.rlim_cur / 1024), PROGRAM_STACK_KIB);
    _exit(STATUS_FAILED);
}

bool program_folder(char folder[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    strrchr(folder, '/')[1] = '\0';
    return true;
}

static char host[HOST_SIZE];

static void find_host(void)
{
    struct utsname system = {0};
    (void)uname(&system);
    (void)snprintf(host, sizeof host, "%.64s", system.nodename[0] ? system.nodename : "localhost");
    for (char *c = host; *c; c++)
        *c = *c <= ' ' || *c >= 0x7f ? '_' : *c;
}

const char *host_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_host);
    return host;
}

void program_sleeps(char *const *argv)
{
    const char *preload = getenv("LD_PRELOAD");
    const bool valgrind = preload && strstr(preload, "/vgpreload");
    if (!valgrind && !getenv("OMP_WAIT_POLICY") && !getenv("GOMP_SPINCOUNT") &&
        setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
        (void)execv("/proc/self/exe", argv);
}

/* Sanitizers define pthread_create themselves. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)

int program_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    return pthread_create(thread, attributes, run, argument);
}

#else

int program_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *const found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&create, &found, sizeof create);
    return create(thread, attributes, run, argument);
}

/* The executable's pthread_create has precedence over that of the C library, in libraries, too. */
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*run)(void *), void *restrict argument)
{
    const int error = program_thread(thread, attributes, run, argument);
    if (error) {
        log_line(LOG_ERROR, "cannot start a thread: %s", strerror(error));
        _exit(STATUS_FAILED);
    }
    return 0;
}

#endif
