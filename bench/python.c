/*
 * Measures stages in Python, and a loop over frames that are ready: the CPU time per frame,
 * compared with the time in which numpy copies the frame.
 */
#include <inttypes.h>

#include "chain.h"

enum { SHORT = 4, LONG = 20 };  // --frames of a short and a long run, which start alike

/* Lines of Python, as the shell sees them between double quotes. */
#define HEAD "/usr/bin/python3 -c \"import braggpipe, json, numpy, time; "
#define EDGE "n = %" PRId64 "; a = numpy.ones((n, n), 'f4'); "
#define TAIL "\" --quiet --stats=stats"
#define SAY(who)                                                    \
    "said = dict(stage='" who "', cpu_s=time.process_time() - t); " \
    "print(json.dumps(said, separators=(',', ':')), file=open('stats', 'a'))\""

static const char PIPE[] = HEAD EDGE
    "braggpipe.source('source', lambda frame: a, frames=%" PRId64 ", detpixels=n)" TAIL " | " HEAD
    "braggpipe.transform('transform', lambda image, frame: image)" TAIL " | " HEAD EDGE
    "braggpipe.sink('sink', lambda frame: numpy.copyto(a, frame.image))" TAIL " && " HEAD EDGE
    "ring = [a + i for i in range(8)]; t = time.process_time(); [numpy.copyto(a, ring[i %% 8]) for "
    "i in range(%" PRId64 ")]; " SAY("copy");

/* The stages before it compute nothing (bench-hop.c), and its pixels stay where they are. */
static const char LOOP[] =
    " && " HEAD "hop = 'bench-hop %%s --quiet --pixels=%" PRId64 " --frames=%" PRId64
    "'; frames = braggpipe.open(' | '.join(hop %% s for s in ('first', 'source', 'make'))); "
    "t = 0; sum(frame.image.size for frame in frames); " SAY("loop");

static const char *const WHO[] = {"copy", "loop", "source", "transform", "sink"};
enum { NWHO = sizeof WHO / sizeof *WHO };

/* CPU time of each so far, s. */
static enum status run_once(struct bench *b, int64_t edge, int64_t frames, double cpu_s[NWHO],
                            struct error *e)
{
    char command[COMMAND_MAX];
    struct run r = {0};
    size_t n = (size_t)snprintf(command, sizeof command, PIPE, edge, frames, edge, edge, frames);
    (void)snprintf(command + n, sizeof command - n, LOOP, edge, frames);
    const enum status s = chain_run(b, "python", command, &r, e);
    for (int i = 0; i < NWHO; i++)
        cpu_s[i] = chain_find(&r, WHO[i])->cpu_s;
    return s;
}

static void report(struct bench *b, int64_t edge, const struct timing times[NWHO])
{
    const double copy_ns = timing_median(times[0].cpu_ns, times[0].count);
    for (int i = 0; i < NWHO; i++) {
        const double ns = timing_median(times[i].cpu_ns, times[i].count);
        record_open(b, "python");
        record_text(b, "contestant", WHO[i]);
        record_real(b, "bytes", 4.0 * (double)(edge * edge));
        record_real(b, "of_copy", copy_ns / ns);
        record_timing(b, &times[i]);
        record_close(b);
        printf("| %" PRId64 " | %s | %.3f%s | %.2f |\n", edge, WHO[i], ns / 1e6,
               timing_mark(&times[i]), copy_ns / ns);
    }
}

static enum status run_size(struct bench *b, int64_t edge, struct error *e)
{
    struct timing times[NWHO] = {{0}};
    for (int64_t round = 0; round < b->o.iterations; round++) {
        double less[NWHO], more[NWHO];
        enum status s = run_once(b, edge, SHORT * b->o.frames, less, e);
        if (!s)
            s = run_once(b, edge, LONG * b->o.frames, more, e);
        if (s)
            return s;
        for (int i = 0; i < NWHO; i++) {
            const double ns = 1e9 * (more[i] - less[i]) / (double)((LONG - SHORT) * b->o.frames);
            timing_add(&times[i], ns, ns);
        }
    }
    report(b, edge, times);
    return STATUS_OK;
}

enum status bench_python(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\n| edge | in Python | CPU ms/frame | frames, of a copy's |\n|---|---|---|---|\n");
    for (size_t i = 0; i < b->nsizes && !s; i++)
        s = run_size(b, b->sizes[i], e);
    return s;
}
