#include "base/program.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"

void program_open(const char *name)
{
    struct rlimit stack;
    log_open(name);
    (void)prctl(PR_SET_NAME, program_invocation_short_name);  // else "exe" after a restart
    (void)signal(SIGCHLD, SIG_DFL);  // if SIGCHLD were ignored, children would have no exit status
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

/* --- file descriptors ---------------------------------------------------- */

/* Linux has the system call since 5.9, and its flag since 5.11.  Older systems and some
 * containers do not have them, and glibc 2.31 does not define the name of either. */
#ifndef __NR_close_range
#define __NR_close_range 436
#endif
enum { FLAG_CLOSE_AT_EXEC = 1 << 2 };

static bool close_range_works(unsigned first, unsigned last, unsigned flags)
{
    return syscall(__NR_close_range, first, last, flags) == 0;
}

/* Converts a name in /proc/self/fd into a file descriptor; -1: the name is not a number. */
static int number_of(const char *name)
{
    int number = 0;
    for (; *name >= '0' && *name <= '9' && number < INT_MAX / 10 - 1; name++)
        number = 10 * number + *name - '0';
    return *name ? -1 : number;
}

static void close_one(int fd)
{
    (void)close(fd);
}

static void mark_one(int fd)
{
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Calls act(fd) for each open file descriptor from `first` to `last`.  Does not call malloc,
 * which another thread may have locked at fork.  Returns false if the system does not list the
 * descriptors. */
static bool each_file(unsigned first, unsigned last, void (*act)(int fd))
{
    _Alignas(struct dirent64) char entries[2048];
    const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t size;
    if (folder < 0)
        return false;
    while ((size = getdents64(folder, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            const int fd = number_of(entry->d_name);
            if (fd >= 0 && fd != folder && (unsigned)fd >= first && (unsigned)fd <= last)
                act(fd);
            at += entry->d_reclen;
        }
    (void)close(folder);
    return size == 0;
}

void program_close_files(unsigned first, unsigned last)
{
    struct rlimit files;
    if (close_range_works(first, last, 0) || each_file(first, last, close_one) ||
        getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    for (unsigned fd = first; fd <= last && fd < files.rlim_cur; fd++)
        (void)close((int)fd);
}

bool program_close_at_exec(unsigned first)
{
    return close_range_works(first, ~0u, FLAG_CLOSE_AT_EXEC) || each_file(first, ~0u, mark_one);
}

/* --- host and threads ---------------------------------------------------- */

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

enum status program_take_descriptors(unsigned least, struct error *e)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return STATUS_OK;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur >= least)
        return STATUS_OK;
    return error_set(
        e, STATUS_FAILED,
        "the limit of open files is too small (ulimit -n, got %u); expected at least %u",
        (unsigned)files.rlim_cur, least);
}

static _Thread_local int threads_for_memory = 1;

int program_threads(void)
{
    return threads_for_memory;
}

void program_set_threads(int threads)
{
    threads_for_memory = threads;
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

/* Replaces pthread_create of the C library, also for calls from libraries, because a function of
 * the executable has precedence.  Ends the program if the thread cannot be created. */
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

// clang-format off
const struct listed_program program_list[] = {
    // name, summary, hints, recomputes
    {"geometry", "detector, beam, crystals, structure factors", true, true},
    {"orient", "parameters of each frame: orientation, rotation, pulses", true, true},
    {"intensity", "photons per pixel", true, true},
    {"background", "scattering of water, air, any material", true, true},
    {"noise", "photons to detector counts", true, true},
    {"write", "files and pictures", true, false},
    {"eiger", "virtual Dectris detector, controlled over HTTP", false, false},
    {"serve", "live frames for other programs, in their protocols", true, false},
    {"tap", "records, prints or counts what flows between stages", false, false},
    {"replay", "plays a recording or images, computes a frame again", false, false},
    {"run", "runs the pipeline of a file, or one that ships", true, false},
    {"top", "shows the progress of a running pipeline", false, false},
    {"view", "shows the images in a browser", false, false},
    {"report", "writes an HTML page about the frames of a stream", false, false},
    {"fisher", "predicts the error bars of an experiment", false, false},
    {"refine", "fits orientations, cells and more to images, with error bars", false, false},
    {"compare", "compares two images", false, false},
    {"score", "compares the results of an analysis with the ground truth", false, false},
    {"nanobragg", "nanoBragg's command line", false, false},
    {"nonbragg", "nonBragg's command line", false, false},
    {"noisify", "noisify's command line", false, false},
};
// clang-format on

const size_t program_list_length = sizeof program_list / sizeof *program_list;

const struct listed_program *program_list_find(const char *executable)
{
    static const char PREFIX[] = "bragg-";
    const size_t length = sizeof PREFIX - 1;
    if (strncmp(executable, PREFIX, length) != 0)
        return NULL;
    for (size_t i = 0; i < program_list_length; i++)
        if (strcmp(program_list[i].name, executable + length) == 0)
            return &program_list[i];
    return NULL;
}
