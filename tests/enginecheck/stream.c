/*
 * A stream of frames, with background and noise on the GPU, to another process.  The frames pass
 * through the slots of the pool that stages share.  The slots are pinned, so that the GPU writes to
 * the place where the consumer reads.  Only the descriptors pass through a pipe, unlike in a
 * pipeline.  The consumer computes the checksum of all pixels, as a stage does.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../bench/workload.h"
#include "../unit/after_case.h"
#include "base/clock.h"
#include "base/hash.h"
#include "check.h"
#include "link/pool.h"

enum { WARM_UP = 40, FRAMES = 400, ALONE = 100, CHECKED = 3 };
static const uint64_t SEED = 77;

/* A frame on its way, and back with its sum. */
struct parcel {
    const void *pixels;  // at the same address in both processes
    size_t bytes;
    uint64_t id;
    uint32_t sum;
    uint32_t slot;
};

struct stream {
    struct run *run;
    struct experiment x;
    struct recipe r;
    struct background_material material;
    struct noise noise;
    struct plan *plan;
    struct pool *pool;
    int to, back;  // pipes: parcels
    pid_t consumer;
    size_t pixels;
    bool pinned[POOL_SLOTS_MAX];  // or tried
    bool unpinned;                // the driver cannot
    uint32_t sums[WARM_UP + FRAMES];
    uint64_t received;
};

/* ---- the consumer -------------------------------------------------------------------- */

static _Noreturn void consume(int from, int back)
{
    struct parcel p;
    while (read(from, &p, sizeof p) == (ssize_t)sizeof p) {
        p.sum = crc32c(0, p.pixels, p.bytes);
        if (write(back, &p, sizeof p) != (ssize_t)sizeof p)
            _exit(1);
    }
    _exit(0);
}

/* Before the card is touched, which a fork would not survive. */
static enum status start_consumer(struct stream *s, struct error *e)
{
    const struct pool_owner owner = {.uuid = "enginecheck"};
    int to[2], back[2];
    const enum status status =
        pool_open(&s->pool, &owner, s->pixels * sizeof(uint16_t), NULL, NULL, e);
    if (status)
        return status;
    if (pipe(to) != 0 || pipe(back) != 0 || fflush(NULL) != 0 || (s->consumer = fork()) < 0)
        return error_errno(e, STATUS_FAILED, "a consumer");
    if (s->consumer == 0) {
        (void)close(to[1]);
        consume(to[0], back[1]);
    }
    (void)close(to[0]);
    (void)close(back[1]);
    s->to = to[1];
    s->back = back[0];
    return STATUS_OK;
}

/* ---- the producer -------------------------------------------------------------------- */

/* Waits for one frame to come back. */
static enum status receive(struct stream *s, struct error *e)
{
    struct parcel p;
    if (read(s->back, &p, sizeof p) != (ssize_t)sizeof p)
        return error_set(e, STATUS_FAILED, "the consumer has left");
    s->sums[p.id] = p.sum;
    s->received++;
    pool_release(s->pool, p.slot);
    return STATUS_OK;
}

static void pin_once(struct stream *s, uint32_t slot, void *pixels, size_t bytes)
{
    struct error e = {0};
    if (s->pinned[slot] || s->unpinned)
        return;
    s->pinned[slot] = true;
    s->unpinned = s->run->engine->pin(s->plan, pixels, bytes, &e) != STATUS_OK;
    if (s->unpinned)
        printf("slots are not pinned: %s\n", e.text);
}

/* The pixels of a free slot, which is pinned. */
static enum status take_slot(struct stream *s, struct image *image, uint32_t *slot, struct error *e)
{
    const size_t bytes = s->pixels * sizeof(uint16_t);
    enum status status = STATUS_OK;
    enum pool_got got;
    struct descriptor d;
    while (!status && (got = pool_take(s->pool, bytes, POOL_SLOTS_MAX, image)) != POOL_TAKEN)
        status = got == POOL_BUSY ? receive(s, e)
                                  : error_set(e, STATUS_FAILED, "no shared memory for the pool");
    if (status)
        return status;
    (void)pool_find(s->pool, image->pixels, NULL, bytes, &d);
    *slot = d.slot;
    pin_once(s, d.slot, image->pixels, bytes);
    return STATUS_OK;
}

static enum status send_one(struct stream *s, uint64_t id, struct error *e)
{
    struct image image;
    uint32_t slot;
    enum status status = take_slot(s, &image, &slot, e);
    if (status)
        return status;
    s->r.id = id;
    status = s->run->engine->develop(s->plan, &s->r, SEED, image.pixels, NULL, e);
    const struct parcel p = {image.pixels, s->pixels * sizeof(uint16_t), id, 0, slot};
    if (!status && write(s->to, &p, sizeof p) != (ssize_t)sizeof p)
        status = error_errno(e, STATUS_FAILED, "the consumer");
    return status;
}

/* Measures the frames per second if no process reads them, into one slot. */
static enum status send_none(struct stream *s, double *rate, struct error *e)
{
    struct image image;
    uint32_t slot;
    enum status status = take_slot(s, &image, &slot, e);
    if (status)
        return status;
    const uint64_t start = clock_ns();
    for (s->r.id = 0; s->r.id < ALONE && !status; s->r.id++)
        status = s->run->engine->develop(s->plan, &s->r, SEED, image.pixels, NULL, e);
    *rate = ALONE / ((double)(clock_ns() - start) * 1e-9);
    pool_release(s->pool, slot);
    return status;
}

/* Frames first to end - 1, until all are back. */
static enum status send_all(struct stream *s, uint64_t first, uint64_t end, struct error *e)
{
    enum status status = STATUS_OK;
    for (uint64_t id = first; id < end && !status; id++)
        status = send_one(s, id, e);
    while (s->received < end && !status)
        status = receive(s, e);
    return status;
}

/* Returns false if the engine formed another checksum of an image. */
static bool sum_is_right(const struct stream *s, uint32_t expected)
{
    uint32_t sum;
    return !s->run->engine->sum || !s->run->engine->sum(s->plan, &sum) || sum == expected;
}

/* Some frames once more: what the consumer read was what the engine made. */
static enum status check_sums(struct stream *s, int *wrong, struct error *e)
{
    const size_t bytes = s->pixels * sizeof(uint16_t);
    void *image = mem_array(bytes, 1);
    enum status status = image ? STATUS_OK : error_memory(e, "the image");
    *wrong = 0;
    for (int i = 0; i < CHECKED && !status; i++) {
        s->r.id = (uint64_t)(i * (WARM_UP + FRAMES - 1) / (CHECKED - 1));
        status = s->run->engine->develop(s->plan, &s->r, SEED, image, NULL, e);
        const uint32_t sum = crc32c(0, image, bytes);
        *wrong += !status && (sum != s->sums[s->r.id] || !sum_is_right(s, sum));
    }
    mem_free(image);
    return status;
}

/* ---- the check ----------------------------------------------------------------------- */

static enum status stream_open(struct stream *s, int64_t size, struct error *e)
{
    struct words words;
    const struct engine *engine = s->run->engine;
    s->pixels = (size_t)(size * size);
    s->noise = after_noises[0];
    s->to = s->back = -1;
    workload_words(&workloads[0], size, &words);
    enum status status = workload_build(&workloads[0], &words, PHYSICS_PHYSICAL, &s->x, &s->r, e);
    if (!status)
        status = after_water(&s->material, e);
    if (!status)
        status = start_consumer(s, e);
    float *photons = mem_array(s->pixels, sizeof *photons);
    if (!status && !photons)
        status = error_memory(e, "the background");
    if (!status)
        after_set_brightest(&s->x, &s->material, 10.0, photons);
    mem_free(photons);
    if (!status)
        status = engine->create(&s->plan, &s->x, &s->run->options, e);
    struct engine_after after = {&s->material, 1, &s->noise, PIXEL_U16};
    if (!status)
        status = engine->prepare(s->plan, &after, e);
    return status || !(after.noise || after.nmaterials)
               ? status
               : error_set(e, STATUS_FAILED, "the engine leaves background or noise to others");
}

static void stream_close(struct stream *s)
{
    if (s->plan)
        s->run->engine->destroy(&s->plan);
    if (s->to >= 0)
        (void)close(s->to);
    if (s->back >= 0)
        (void)close(s->back);
    if (s->consumer > 0)
        (void)waitpid(s->consumer, NULL, 0);
    pool_close(&s->pool);
    amorphous_free(&s->material.table);
    recipe_free(&s->r);
    experiment_free(&s->x);
}

static void report(struct run *run, int64_t size, double seconds, double alone, int wrong)
{
    const double rate = FRAMES / seconds;
    run->cases++;
    run->failed += wrong != 0;
    printf("stream, %d x %d, one step, background and noise on the card, 16 bit, into a process: "
           "%.0f frames/s, %.0f where nobody reads them%s\n",
           (int)size, (int)size, rate, alone, wrong ? ", FAILED: other pixels arrived" : "");
    if (run->json)
        (void)fprintf(run->json,
                      "{\"part\": \"stream\", \"size\": %d, \"frames\": %d, \"frames_per_s\": "
                      "%.4g, \"alone_per_s\": %.4g, \"bytes_per_s\": %.4g, \"passed\": %s}\n",
                      (int)size, FRAMES, rate, alone, rate * 2.0 * (double)(size * size),
                      wrong ? "false" : "true");
}

enum status check_stream(struct run *run, const int64_t *numbers, struct error *e)
{
    struct stream *s = mem_array(1, sizeof *s);
    double seconds = 0.0, alone = 0.0;
    int wrong = 0;
    if (!s)
        return error_memory(e, "the stream");
    s->run = run;
    (void)signal(SIGPIPE, SIG_IGN);
    enum status status = stream_open(s, numbers[0], e);
    if (!status)
        status = send_all(s, 0, WARM_UP, e);
    const uint64_t start = clock_ns();
    if (!status)
        status = send_all(s, WARM_UP, WARM_UP + FRAMES, e);
    seconds = (double)(clock_ns() - start) * 1e-9;
    if (!status)
        status = send_none(s, &alone, e);
    if (!status)
        status = check_sums(s, &wrong, e);
    stream_close(s);
    if (!status)
        report(run, numbers[0], seconds, alone, wrong);
    mem_free(s);
    return status;
}
