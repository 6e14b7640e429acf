/*
 * Compares compressed pixels (--compress) with plain pixels over tcp.  bragg-replay sends the
 * frames of a recording, and bragg-tap counts them.  A network of 1 Gb/s is simulated: a token
 * bucket slows down the loopback interface of a network namespace.  If namespaces are not allowed,
 * the frames per second of this network are computed from the bytes.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "chain.h"

enum { RECORDED = 4, LIMIT_BITS_PER_S = 1000000000 };

/* What travels. */
static const struct kind {
    const char *name, *water_um, *noise;  // options of bragg-noise; NULL: without it
} KINDS[] = {
    {"counts of 16 bits, background 3", "7.5", "--bits=16"},
    {"counts of 16 bits, background 40", "100", "--bits=16"},
    {"counts of 32 bits, background 3", "7.5", "--bits=32"},
    {"photons, float32", "7.5", NULL},
};

static const struct link {
    const char *name, *guard;
    bool limited;
    int64_t factor;  // frames, in units of --frames
} LINKS[] = {
    {"loopback", "--insecure", false, 5},
    {"loopback, keys", "--keys=../keys", false, 5},
    {"1 Gb/s, keys", "--keys=../keys", true, 1},
};
static const char *const WAYS[] = {"", "--compress"};

enum { NKINDS = sizeof KINDS / sizeof *KINDS, NLINKS = sizeof LINKS / sizeof *LINKS, NWAYS = 2 };

#define LIMIT                                                                         \
    "unshare -n sh -c 'ip link set lo up && tc qdisc add dev lo root tbf rate 1gbit " \
    "burst 256kb latency 50ms && eval \"$TIMED\"'"

struct compress {
    struct bench *b;
    int64_t edge;
    bool can_limit;
    const struct kind *kind;
    struct timing times[NLINKS][NWAYS], sender[NLINKS][NWAYS], receiver[NLINKS][NWAYS];
    double bytes[NWAYS];  // of a frame on the wire
};

static enum status record_frames(const struct compress *c, struct error *e)
{
    char command[COMMAND_MAX], options[128];
    struct run r;
    chain_still(c->b, command, c->edge, RECORDED, "");
    (void)snprintf(options, sizeof options, "--threads=1 --water=%s", c->kind->water_um);
    chain_stage(c->b, command, "bragg-background", options);
    if (c->kind->noise)
        chain_stage(c->b, command, "bragg-noise", c->kind->noise);
    chain_stage(c->b, command, "bragg-tap", "--overwrite --record=../frames.rec");
    return chain_run(c->b, "recorded", command, &r, e);
}

static enum status send_frames(const struct compress *c, const struct link *l, const char *way,
                               int64_t loops, struct run *r, struct error *e)
{
    char command[COMMAND_MAX];
    const int port = chain_port();
    (void)snprintf(
        command, sizeof command,
        "TIMED='bragg-tap --count --hold=yes --quiet --stats=stats --in=tcp://127.0.0.1:%d %s & "
        "bragg-replay --quiet --stats=stats --loop=%" PRId64
        " --out=@tcp://127.0.0.1:%d %s %s ../frames.rec && wait'; export TIMED; %s",
        port, l->guard, loops, port, l->guard, way, l->limited ? LIMIT : "eval \"$TIMED\"");
    return chain_run(c->b, "sent", command, r, e);
}

/* A few frames, and more of them: the difference is what a frame costs once all runs. */
static enum status run_once(struct compress *c, size_t link, size_t way, struct error *e)
{
    static const char *const sides[] = {"bragg-replay", "bragg-tap"};
    struct timing *const times[] = {&c->sender[link][way], &c->receiver[link][way]};
    const int64_t more = (c->b->o.frames * LINKS[link].factor + RECORDED - 1) / RECORDED;
    const double frames = (double)(more * RECORDED);
    struct run few, many;
    enum status s = send_frames(c, &LINKS[link], WAYS[way], 1, &few, e);
    if (s || (s = send_frames(c, &LINKS[link], WAYS[way], 1 + more, &many, e)))
        return s;
    const double wall_ns = (many.wall_ns - few.wall_ns) / frames;
    for (size_t i = 0; i < 2; i++) {
        const double cpu_s = chain_find(&many, sides[i])->cpu_s - chain_find(&few, sides[i])->cpu_s;
        timing_add(times[i], 1e9 * cpu_s / frames, wall_ns);
    }
    timing_add(&c->times[link][way], (many.cpu_ns - few.cpu_ns) / frames, wall_ns);
    c->bytes[way] =
        (chain_find(&many, sides[0])->bytes_out - chain_find(&few, sides[0])->bytes_out) / frames;
    return STATUS_OK;
}

static void report(const struct compress *c, size_t link, size_t way)
{
    struct bench *b = c->b;
    const bool reckoned = LINKS[link].limited && !c->can_limit;
    const size_t like = reckoned ? link - 1 : link;  // the same keys, no limit
    const struct timing *t = &c->times[like][way];
    const double sender_ns = timing_median(c->sender[like][way].cpu_ns, t->count);
    const double receiver_ns = timing_median(c->receiver[like][way].cpu_ns, t->count);
    double per_s = 1e9 / timing_median(t->wall_ns, t->count);
    if (reckoned)
        per_s = fmin(per_s, LIMIT_BITS_PER_S / 8.0 / c->bytes[way]);
    record_open(b, "compress");
    record_text(b, "kind", c->kind->name);
    record_text(b, "link", LINKS[link].name);
    record_text(b, "how", reckoned ? "reckoned" : "measured");
    record_real(b, "size", (double)c->edge);
    record_real(b, "packed", (double)way);
    record_real(b, "mb", c->bytes[way] / 1e6);
    record_real(b, "sender_cpu_ms", sender_ns / 1e6);
    record_real(b, "receiver_cpu_ms", receiver_ns / 1e6);
    record_real(b, "frames_per_s", per_s);
    record_timing(b, t);
    record_close(b);
    printf("| %s | %s | %s | %.2f | %.1f | %.1f%s | %.1f%s |\n", c->kind->name, LINKS[link].name,
           way ? "packed" : "as they are", c->bytes[way] / 1e6, sender_ns / 1e6, receiver_ns / 1e6,
           timing_mark(t), per_s, reckoned ? " (reckoned)" : "");
    (void)fflush(stdout);
}

static enum status run_kind(struct bench *b, const struct kind *kind, int64_t edge, bool can_limit,
                            struct error *e)
{
    struct compress c = {.b = b, .edge = edge, .can_limit = can_limit, .kind = kind};
    enum status s = record_frames(&c, e);
    for (int64_t round = 0; round < b->o.iterations && !s; round++)
        for (size_t link = 0; link < NLINKS; link++)
            for (size_t way = 0; way < NWAYS && !s; way++)
                if (can_limit || !LINKS[link].limited)
                    s = run_once(&c, link, way, e);
    for (size_t link = 0; link < NLINKS && !s; link++)
        for (size_t way = 0; way < NWAYS; way++)
            report(&c, link, way);
    return s;
}

enum status bench_compress(struct bench *b, struct error *e)
{
    static const int64_t edges[] = {2048};
    const int64_t *sizes = b->o.has_sizes ? b->sizes : edges;
    const size_t nsizes = b->o.has_sizes ? b->nsizes : 1;
    struct run r;
    struct error no_limit;
    enum status s = chain_run(b, "makes", "bragg-run --make-keys=../keys", &r, e);
    const bool can_limit =
        chain_run(b, "limit", "TIMED=true; export TIMED; " LIMIT, &r, &no_limit) == STATUS_OK;
    printf("\n| frames | link | pixels | MB/frame | sender, CPU ms | receiver, CPU ms | frames/s "
           "|\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < nsizes && !s; i++)
        for (size_t k = 0; k < NKINDS && !s; k++)
            s = !bench_wants(b, KINDS[k].name) ? s : run_kind(b, &KINDS[k], sizes[i], can_limit, e);
    return s;
}
