/*
 * Measures the CPU time of a frame in the two sinks, bragg-serve (Stream V2) and bragg-write
 * (NXmx). A recording of counts of 16 bits is played.  Both sinks compress the pixels with
 * bitshuffle and LZ4, or get them compressed through tcp (--compress) and keep them so.  The times
 * are compared with the time of compressing the same pixels in memory.  Every message must end with
 * the compressed pixels of its frame, and the pixels of the files must be those of the recording.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <zmq.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/isa.h"
#include "chain.h"
#include "codec/bslz4.h"

enum { RECORDED = 4, FACTOR = 5, IDLE_MS = 20000 };

struct sinks;
typedef enum status sink(const struct sinks *s, int contestant, int64_t loops, struct run *r,
                         struct error *e);
static sink serve, write_files;

enum { PACKING, CONTESTANTS = 5 };

/* The sinks; the first contestant is the compression in memory. */
static const struct contestant {
    const char *name, *stage;
    bool packed;  // frames come compressed
    sink *run;
} all[CONTESTANTS] = {
    {.name = "packing alone"},
    {"bragg-serve, Stream V2", "bragg-serve", false, serve},
    {"bragg-write, NXmx", "bragg-write", false, write_files},
    {"bragg-serve, Stream V2, packed frames", "bragg-serve", true, serve},
    {"bragg-write, NXmx, packed frames", "bragg-write", true, write_files},
};

struct sinks {
    struct bench *b;
    int64_t edge;
    size_t count;  // pixels
    uint16_t *pixels[RECORDED];
    uint8_t *packed[RECORDED];
    size_t length[RECORDED];
    struct timing times[CONTESTANTS];
};

/* --- frames -------------------------------------------------------------------- */

/* Reads the pixels of image `i` of the recording, which end its file, and packs them. */
static enum status read_image(struct sinks *s, int i, struct error *e)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/f_%d.img", s->b->scratch, i);
    s->pixels[i] = mem_array(s->count, sizeof(uint16_t));
    s->packed[i] = mem_room(bslz4_bound(s->count, sizeof(uint16_t)));
    FILE *in = fopen(path, "rb");
    const bool good = in && s->pixels[i] && s->packed[i] &&
                      fseek(in, -2 * (long)s->count, SEEK_END) == 0 &&
                      fread(s->pixels[i], sizeof(uint16_t), s->count, in) == s->count;
    if (in)
        (void)fclose(in);
    if (!good)
        return error_set(e, STATUS_FAILED, "%s: cannot read", path);
    s->length[i] =
        bslz4_compress(isa_best(), s->pixels[i], s->count, sizeof(uint16_t), s->packed[i]);
    return STATUS_OK;
}

static enum status make_frames(struct sinks *s, struct error *e)
{
    char command[COMMAND_MAX];
    struct run r;
    chain_still(s->b, command, s->edge, RECORDED, "");
    chain_stage(s->b, command, "bragg-background", "--threads=1 --water=7.5");
    chain_stage(s->b, command, "bragg-noise", "--adc-offset=0");
    chain_stage(s->b, command, "bragg-tap", "--overwrite --record=../frames.rec");
    enum status status = chain_run(s->b, "recorded", command, &r, e);
    if (!status)
        status = chain_run(s->b, "images",
                           "bragg-replay --quiet ../frames.rec | "
                           "bragg-write --quiet --overwrite ../f_%d.img 2>/dev/null",
                           &r, e);
    for (int i = 0; i < RECORDED && !status; i++)
        status = read_image(s, i, e);
    return status;
}

static void free_frames(struct sinks *s)
{
    for (int i = 0; i < RECORDED; i++) {
        mem_free(s->pixels[i]);
        mem_free(s->packed[i]);
    }
}

/* Makes the command that plays the recording `loops` times into a sink. */
static void play(char *command, int contestant, int64_t loops, const char *sink_command)
{
    const int port = chain_port();
    if (all[contestant].packed)
        (void)snprintf(command, COMMAND_MAX,
                       "%s --insecure --in=tcp://127.0.0.1:%d >/dev/null & sink=$!; "
                       "bragg-replay --quiet --insecure --compress --loop=%" PRId64
                       " --out=@tcp://127.0.0.1:%d ../frames.rec && wait $sink",
                       sink_command, port, loops, port);
    else
        (void)snprintf(command, COMMAND_MAX,
                       "bragg-replay --quiet --loop=%" PRId64 " ../frames.rec | %s >/dev/null",
                       loops, sink_command);
}

/* --- a client of Stream V2 ------------------------------------------------------- */

/* A client that compares the end of each message with the packed pixels of its frame. */
struct client {
    const struct sinks *s;
    void *socket;
    int64_t images;  // the start and the end of the series are one message more each
    bool good;
};

static bool is_image(const struct sinks *s, int64_t number, const zmq_msg_t *m)
{
    const size_t size = zmq_msg_size(m), length = s->length[number % RECORDED];
    const uint8_t *data = zmq_msg_data((zmq_msg_t *)(uintptr_t)m);
    return size > length && memcmp(data + size - length, s->packed[number % RECORDED], length) == 0;
}

static void *receive_all(void *argument)
{
    struct client *c = argument;
    c->good = true;
    for (int64_t i = -1; i <= c->images && c->good; i++) {
        zmq_msg_t m;
        (void)zmq_msg_init(&m);
        c->good = zmq_msg_recv(&m, c->socket, 0) >= 0 &&
                  (i < 0 || i == c->images || is_image(c->s, i, &m));
        (void)zmq_msg_close(&m);
    }
    return NULL;
}

/* Runs bragg-serve for `loops` times the recording, with a client that receives all frames. */
static enum status serve(const struct sinks *s, int contestant, int64_t loops, struct run *r,
                         struct error *e)
{
    char command[COMMAND_MAX], endpoint[96], server[256];
    const int idle_ms = IDLE_MS;
    pthread_t thread;
    void *context = zmq_ctx_new();
    struct client client = {.s = s, .images = loops * RECORDED};
    client.socket = zmq_socket(context, ZMQ_PULL);
    (void)snprintf(endpoint, sizeof endpoint, "ipc://%s/clients", s->b->scratch);
    (void)snprintf(server, sizeof server,
                   "bragg-serve --quiet --stats=stats --protocol=dectris2 --bind=%s", endpoint);
    play(command, contestant, loops, server);
    enum status status = STATUS_FAILED;
    if (!client.socket || zmq_setsockopt(client.socket, ZMQ_RCVTIMEO, &idle_ms, sizeof idle_ms) ||
        zmq_connect(client.socket, endpoint) || pthread_create(&thread, NULL, receive_all, &client))
        (void)error_set(e, STATUS_FAILED, "%s: cannot connect", endpoint);
    else {
        status = chain_run(s->b, "served", command, r, e);
        (void)pthread_join(thread, NULL);
        if (!status && !client.good)
            status = error_set(e, STATUS_FAILED, "bragg-serve sent other images");
    }
    if (client.socket)
        (void)zmq_close(client.socket);
    (void)zmq_ctx_term(context);
    return status;
}

/* --- files ----------------------------------------------------------------------- */

static enum status write_files(const struct sinks *s, int contestant, int64_t loops, struct run *r,
                               struct error *e)
{
    char command[COMMAND_MAX];
    play(command, contestant, loops, "bragg-write --quiet --stats=stats w.nxs");
    return chain_run(s->b, "written", command, r, e);
}

/* Compares the pixels of NXmx files with those of the recording. */
static enum status check_files(const struct sinks *s, int contestant, struct error *e)
{
    char command[COMMAND_MAX];
    struct run r;
    play(command, contestant, 1, "bragg-write --quiet w.nxs");
    const size_t length = strlen(command);
    (void)snprintf(command + length, sizeof command - length,
                   " && bragg-replay --quiet w.nxs | bragg-write --quiet g_%%d.img 2>/dev/null && "
                   "for i in 0 1 2 3; do tail -c %zu ../f_$i.img >a; "
                   "tail -c %zu g_$i.img | cmp - a || exit 1; done",
                   2 * s->count, 2 * s->count);
    return chain_run(s->b, "checked", command, &r, e);
}

/* --- rounds ---------------------------------------------------------------------- */

/* Packs all frames of a run, and adds the time of one frame. */
static void pack_frames(struct sinks *s, uint8_t *out, int64_t frames)
{
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    for (int64_t i = 0; i < frames; i++)
        (void)bslz4_compress(isa_best(), s->pixels[i % RECORDED], s->count, sizeof(uint16_t), out);
    timing_add(&s->times[PACKING], (double)(clock_cpu_ns() - cpu) / (double)frames,
               (double)(clock_ns() - wall) / (double)frames);
}

/* A few frames, and more of them: the difference is what a frame costs once all runs. */
static enum status run_sink(struct sinks *s, int contestant, int64_t more, struct error *e)
{
    const struct contestant *c = &all[contestant];
    const double frames = (double)(more * RECORDED);
    struct run few, many;
    enum status status = c->run(s, contestant, 1, &few, e);
    if (status || (status = c->run(s, contestant, 1 + more, &many, e)))
        return status;
    const double cpu_s = chain_find(&many, c->stage)->cpu_s - chain_find(&few, c->stage)->cpu_s;
    timing_add(&s->times[contestant], 1e9 * cpu_s / frames, (many.wall_ns - few.wall_ns) / frames);
    return STATUS_OK;
}

static void report(struct sinks *s, int contestant)
{
    struct bench *b = s->b;
    const struct timing *t = &s->times[contestant];
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double alone_ns = timing_median(s->times[PACKING].cpu_ns, t->count);
    record_open(b, "sinks");
    record_text(b, "contestant", all[contestant].name);
    record_real(b, "size", (double)s->edge);
    record_real(b, "packed_bytes", (double)s->length[0]);
    record_real(b, "to_packing", cpu_ns / alone_ns);
    record_timing(b, t);
    record_close(b);
    printf("| %s | %" PRId64 " | %.2f%s | %.2f | %.1f |\n", all[contestant].name, s->edge,
           cpu_ns / 1e6, timing_mark(t), cpu_ns / alone_ns,
           1e9 / timing_median(t->wall_ns, t->count));
    (void)fflush(stdout);
}

static enum status run_size(struct bench *b, int64_t edge, struct error *e)
{
    struct sinks s = {.b = b, .edge = edge, .count = (size_t)(edge * edge)};
    const int64_t more = (b->o.frames * FACTOR + RECORDED - 1) / RECORDED;
    uint8_t *out = mem_room(bslz4_bound(s.count, sizeof(uint16_t)));
    enum status status = make_frames(&s, e);
    for (int i = 0; i < CONTESTANTS && !status; i++)
        if (all[i].run == write_files)
            status = check_files(&s, i, e);
    for (int64_t round = 0; round < b->o.iterations && !status; round++) {
        pack_frames(&s, out, more * RECORDED);
        for (int i = PACKING + 1; i < CONTESTANTS && !status; i++)
            status = run_sink(&s, i, more, e);
    }
    for (int i = 0; i < CONTESTANTS && !status; i++)
        report(&s, i);
    free_frames(&s);
    mem_free(out);
    return status;
}

enum status bench_sinks(struct bench *b, struct error *e)
{
    static const int64_t edges[] = {2048};
    const int64_t *sizes = b->o.has_sizes ? b->sizes : edges;
    const size_t nsizes = b->o.has_sizes ? b->nsizes : 1;
    enum status s = STATUS_OK;
    printf("\n| sink, counts of 16 bits | size | CPU ms/frame | to packing | frames/s "
           "|\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < nsizes && !s; i++)
        s = run_size(b, sizes[i], e);
    return s;
}
