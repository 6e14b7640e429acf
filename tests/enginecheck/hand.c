/* The first process, which starts the others and computes photons; and one process that does the
 * work of all three. */
#include "hand.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

enum { WARM_UP = 20, FRAMES = 200, CHECKED = 5 };

struct chain {
    struct hand_work work;
    const struct card *card;
    void *slot[HAND_SLOTS];  // on the card
    struct card_handle name[HAND_SLOTS];
    pid_t child[2];
    int to, back;  // pipes
    uint64_t returned;
    uint32_t sums[WARM_UP + FRAMES];
};

/* ---- processes ----------------------------------------------------------------------- */

/* A process of this program with these ends of pipes; it closes all others. */
static pid_t start(const struct run *run, const char *mode, int64_t size, int in, int out)
{
    char edge[24], engine[32];
    (void)snprintf(edge, sizeof edge, "%d", (int)size);
    (void)snprintf(engine, sizeof engine, "--engine=%s",
                   strcmp(run->engine->name, "cuda") == 0 ? "cuda" : "host");
    const pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(in, STDIN_FILENO);
        (void)dup2(out, STDOUT_FILENO);
        for (int fd = STDERR_FILENO + 1; fd < 64; fd++)
            (void)close(fd);
        execl("/proc/self/exe", "enginecheck", engine, mode, edge, (char *)NULL);
        _exit(STATUS_FAILED);
    }
    return pid;
}

/* Before the card is touched. */
static enum status start_all(struct chain *c, const struct run *run, int64_t size, struct error *e)
{
    int first[2], second[2], third[2];
    if (fflush(NULL) != 0 || pipe(first) != 0 || pipe(second) != 0 || pipe(third) != 0)
        return error_errno(e, STATUS_FAILED, "a pipe");
    c->child[0] = start(run, "hand-sums", size, first[0], second[1]);
    c->child[1] = start(run, "hand-counts", size, second[0], third[1]);
    (void)close(first[0]);
    (void)close(second[0]);
    (void)close(second[1]);
    (void)close(third[1]);
    c->to = first[1];
    c->back = third[0];
    return c->child[0] > 0 && c->child[1] > 0 ? STATUS_OK
                                              : error_errno(e, STATUS_FAILED, "a process");
}

/* They close what they have opened here before this process gives it back. */
static enum status end_all(struct chain *c, struct error *e)
{
    bool well = true;
    if (c->to >= 0)
        (void)close(c->to);
    for (int i = 0; i < 2; i++) {
        int result = 0;
        while (c->child[i] > 0 && waitpid(c->child[i], &result, 0) < 0 && errno == EINTR)
            ;
        well = well && c->child[i] > 0 && result == 0;
    }
    if (c->back >= 0)
        (void)close(c->back);
    return well ? STATUS_OK : error_set(e, STATUS_FAILED, "a process that goes on has failed");
}

/* ---- frames -------------------------------------------------------------------------- */

static enum status take_one(struct chain *c, struct error *e)
{
    struct handed h;
    if (read(c->back, &h, sizeof h) != (ssize_t)sizeof h)
        return error_set(e, STATUS_FAILED, "a process that goes on has left");
    c->sums[h.id] = h.sum;
    c->returned++;
    return STATUS_OK;
}

static bool is_checked(uint64_t id)
{
    return id < CHECKED;
}

static enum status send_all(struct chain *c, const struct run *run, uint64_t first, uint64_t end,
                            struct error *e)
{
    enum status s = STATUS_OK;
    for (uint64_t id = first; id < end && !s; id++) {
        const size_t slot = id % HAND_SLOTS;
        while (!s && id - c->returned >= HAND_SLOTS)
            s = take_one(c, e);
        c->work.r.id = id;
        if (!s)
            s = run->engine->develop_there(c->work.plan, &c->work.r, HAND_SEED, c->slot[slot], NULL,
                                           e);
        const struct hand h = {id, c->name[slot], is_checked(id)};
        if (!s && write(c->to, &h, sizeof h) != (ssize_t)sizeof h)
            s = error_errno(e, STATUS_FAILED, "the next process");
    }
    while (c->returned < end && !s)
        s = take_one(c, e);
    return s;
}

static enum status by_three(struct chain *c, const struct run *run, double *ms, struct error *e)
{
    enum status s = run->engine->create(&c->work.plan, &c->work.x, &run->options, e);
    if (s)
        return s;
    c->card = run->engine->card(c->work.plan);
    for (int i = 0; i < HAND_SLOTS && !s; i++)
        s = c->card->reserve(c->card, c->work.pixels * sizeof(float), &c->slot[i], &c->name[i], e);
    if (!s)
        s = send_all(c, run, 0, WARM_UP, e);
    const uint64_t start = clock_ns();
    if (!s)
        s = send_all(c, run, WARM_UP, WARM_UP + FRAMES, e);
    *ms = (double)(clock_ns() - start) * 1e-6 / FRAMES;
    return s;
}

/* The same frames by one process, into memory that is pinned; those that are checked alone have
 * other sums. */
static enum status by_one(struct chain *c, const struct run *run, double *ms, int *wrong,
                          struct error *e)
{
    const size_t bytes = c->work.pixels * sizeof(uint16_t);
    struct engine_after after = {&c->work.material, 1, &c->work.noise, PIXEL_U16};
    void *counts = mem_array(bytes, 1);
    struct plan *plan = NULL;
    enum status s = counts ? run->engine->create(&plan, &c->work.x, &run->options, e)
                           : error_memory(e, "the counts");
    if (!s)
        s = run->engine->prepare(plan, &after, e);
    if (!s)
        s = run->engine->pin(plan, counts, bytes, e);
    uint64_t start = clock_ns();
    for (uint64_t id = 0; id < WARM_UP + FRAMES && !s; id++) {
        start = id == WARM_UP ? clock_ns() : start;
        c->work.r.id = id;
        s = run->engine->develop(plan, &c->work.r, HAND_SEED, counts, NULL, e);
        *wrong += !s && is_checked(id) && crc32c(0, counts, bytes) != c->sums[id];
    }
    *ms = (double)(clock_ns() - start) * 1e-6 / FRAMES;
    if (plan)
        run->engine->destroy(&plan);
    mem_free(counts);
    return s;
}

static void report(struct run *run, int64_t size, double three_ms, double one_ms, int wrong)
{
    run->cases++;
    run->failed += wrong != 0;
    printf("handed on from process to process on the card, %d x %d, one step, background, noise: "
           "%.3f ms a frame, by one process %.3f, ratio %.2f%s\n",
           (int)size, (int)size, three_ms, one_ms, three_ms / one_ms,
           wrong ? ", FAILED: other counts arrived" : "; the same counts");
    if (run->json)
        (void)fprintf(run->json,
                      "{\"part\": \"handed on\", \"size\": %d, \"three_ms\": %.4g, \"one_ms\": "
                      "%.4g, \"passed\": %s}\n",
                      (int)size, three_ms, one_ms, wrong ? "false" : "true");
}

enum status check_hand(struct run *run, const int64_t *numbers, struct error *e)
{
    struct chain *c = mem_array(1, sizeof *c);
    double three_ms = 0.0, one_ms = 0.0;
    int wrong = 0;
    struct error other = {0};
    if (!c)
        return error_memory(e, "the frames");
    c->to = c->back = -1;
    (void)signal(SIGPIPE, SIG_IGN);
    enum status s = hand_open(&c->work, run, numbers[0], e);
    if (!s)
        s = start_all(c, run, numbers[0], e);
    if (!s)
        s = by_three(c, run, &three_ms, e);
    const enum status ended = end_all(c, &other);
    if (!s && ended)
        s = error_set(e, ended, "%s", other.text);
    for (int i = 0; i < HAND_SLOTS && c->card; i++)
        c->card->release(c->card, c->slot[i]);
    if (!s)
        s = by_one(c, run, &one_ms, &wrong, e);
    hand_close(&c->work, run);
    if (!s)
        report(run, numbers[0], three_ms, one_ms, wrong);
    mem_free(c);
    return s;
}
