/* Measures the time from the start of a process to its first frame. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../bench/workload.h"
#include "base/clock.h"
#include "check.h"

enum { STARTS = 4 };

enum status check_frame(struct run *run, const int64_t *numbers, struct error *e)
{
    const int64_t size = numbers[0];
    struct words words;
    struct experiment x = {0};
    struct recipe r = {0};
    struct plan *plan = NULL;
    const size_t bytes = (size_t)(size * size) * sizeof(float);
    float *image = mem_array(bytes, 1);
    workload_words(&workloads[0], size, &words);
    enum status s = workload_build(&workloads[0], &words, PHYSICS_PHYSICAL, &x, &r, e);
    if (!s && !image)
        s = error_memory(e, "the image");
    if (!s)
        s = run->engine->create(&plan, &x, &run->options, e);
    if (!s)
        s = run->engine->run(plan, &r, image, NULL, e);
    if (!s && write(STDOUT_FILENO, "here\n", 5) != 5)
        s = error_errno(e, STATUS_FAILED, "stdout");
    if (plan)
        run->engine->destroy(&plan);
    mem_free(image);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

/* Until a process of `frame` says that it has one. */
static enum status start_one(const struct run *run, int64_t size, double *ms, struct error *e)
{
    int fd[2], result = 0;
    char engine[32], edge[24], said[8];
    (void)snprintf(engine, sizeof engine, "--engine=%s",
                   strcmp(run->engine->name, "cuda") == 0 ? "cuda" : "host");
    (void)snprintf(edge, sizeof edge, "%d", (int)size);
    if (pipe(fd) != 0)
        return error_errno(e, STATUS_FAILED, "a pipe");
    const uint64_t start = clock_ns();
    const pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(fd[1], STDOUT_FILENO);
        (void)close(fd[0]);
        (void)close(fd[1]);
        execl("/proc/self/exe", "enginecheck", engine, "frame", edge, (char *)NULL);
        _exit(STATUS_FAILED);
    }
    (void)close(fd[1]);
    const bool here = pid > 0 && read(fd[0], said, sizeof said) > 0;
    *ms = (double)(clock_ns() - start) * 1e-6;
    (void)close(fd[0]);
    while (pid > 0 && waitpid(pid, &result, 0) < 0 && errno == EINTR)
        ;
    return here && result == 0 ? STATUS_OK
                               : error_set(e, STATUS_FAILED, "a process made no first frame");
}

enum status check_first(struct run *run, const int64_t *numbers, struct error *e)
{
    double ms[STARTS] = {0.0}, slowest = 0.0;
    enum status s = STATUS_OK;
    for (int i = 0; i < STARTS && !s; i++) {
        s = start_one(run, numbers[0], &ms[i], e);
        slowest = ms[i] > slowest ? ms[i] : slowest;
    }
    if (s)
        return s;
    printf("start of a process to its first frame, %d x %d, one step: %.0f ms, then %.0f, %.0f, "
           "%.0f\n",
           (int)numbers[0], (int)numbers[0], ms[0], ms[1], ms[2], ms[3]);
    if (run->json)
        (void)fprintf(run->json,
                      "{\"part\": \"first frame\", \"size\": %d, \"slowest_ms\": %.4g, "
                      "\"last_ms\": %.4g}\n",
                      (int)numbers[0], slowest, ms[STARTS - 1]);
    return STATUS_OK;
}
