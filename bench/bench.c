/*
 * bench: measures the engines, the noise, the messages, the writers and whole pipelines, and peer
 * programs if there are any.  bench.h describes the method.
 */
#include "bench.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program.h"

#define AT(member) .offset = offsetof(struct bench_options, member)

static const struct opt OPTIONS[] = {
    {"sizes", "N,...", "Edges in pixels; given, they hold for all workloads (256,...,4096)",
     OPT_TEXT, AT(sizes), .usual = "256,512,1024,2048,4096"},
    {"iterations", "N", "Rounds, interleaved (3)", OPT_INT, AT(iterations), .min = 1,
     .max = ROUNDS_MAX},
    {"processes", "N", "Cold runs: new processes to the first frame (5)", OPT_INT, AT(processes),
     .min = 1, .max = ROUNDS_MAX},
    {"frames", "N", "Frames of the pipelines (12)", OPT_INT, AT(frames), .min = 3, .max = 10000},
    {"threads", "N",
     "Threads in the last row of the cpu engine (number of CPU cores), of the reference and of the "
     "peer (1)",
     OPT_INT, AT(threads), .min = 1, .max = 1024, .usual = "1"},
    {"engine", "all|reference|cpu", "Engine; all leaves out the reference if there is a peer (all)",
     OPT_CHOICE, AT(engine), .choices = "all|reference|cpu"},
    {"isa", "all|baseline|avx2|avx512", "Instruction sets of the cpu engine (all)", OPT_CHOICE,
     AT(isa), .choices = "all|baseline|avx2|avx512"},
    {"precision", "mixed|double", "Precision of the cpu engine (mixed)", OPT_CHOICE, AT(precision),
     .choices = "mixed|double"},
    {"workload", "TEXT", "Only workloads whose name holds this; may be repeated", OPT_TEXTS,
     AT(workloads)},
    {"parts", "NAME,...",
     "kernel, closed, smear, diffuse, reflections, derivatives, background, noise, stream, "
     "transport, output, sinks, cold, pipeline, score, refine, boundary, compress, workers, pace, "
     "diagnose, python, gather, busiest (all but the last seven)",
     OPT_TEXT, AT(parts)},
    {"peer", "PATH", "A nanoBragg-compatible program to run in the same rounds", OPT_TEXT,
     AT(peer)},
    {"noise-peer", "PATH", "A noisify-compatible program, likewise", OPT_TEXT, AT(noise_peer)},
    {"out", "FILE", "Append results as lines of JSON", OPT_TEXT, AT(out)},
    {"commit", "TEXT", "What was built, for the results", OPT_TEXT, AT(commit)},
    {"note", "TEXT", "What else a reader must know, for the results", OPT_TEXT, AT(note)},
    {"keep-artifacts", NULL, "Keep the folder with images, files and traces", OPT_FLAG,
     AT(keep_artifacts)},
    {"profile", NULL, "Stages of pipelines write traces and statistics; keeps the folder", OPT_FLAG,
     AT(profile)},
    OPT_END(struct bench_options, given),
};

static const struct opt_program PROGRAM = {
    .name = "bench",
    .summary = "Time engines, noise, wire, writers and pipelines, interleaved.",
    .details = "Prints Markdown.  Ratios are of CPU times of the same rounds: to the peer if there "
               "is one, else to the reference engine.  An exclamation mark says that the rounds "
               "vary by more than 5 %.  An image that differs from the reference's ends the run.  "
               "Stage programs are found on PATH.",
};

static const struct part {
    const char *name;
    enum status (*run)(struct bench *b, struct error *e);
} PARTS[] = {
    {"kernel", bench_kernel},
    {"noise", bench_noise},
    {"stream", bench_stream},
    {"transport", bench_transport},
    {"output", bench_output},
    {"cold", bench_cold},
    {"pipeline", bench_pipeline},
    {"boundary", bench_boundary},
    {"diagnose", bench_diagnose},
    {"reflections", bench_reflections},
    {"derivatives", bench_derivatives},
    {"closed", bench_closed},
    {"laue", bench_laue},
    {"varied", bench_varied},
    {"diffuse", bench_diffuse},
    {"compress", bench_compress},
    {"workers", bench_workers},
    {"pace", bench_pace},
    {"background", bench_background},
    {"python", bench_python},
    {"score", bench_score},
    {"gather", bench_gather},
    {"refine", bench_refine},
    {"smear", bench_smear},
    {"sinks", bench_sinks},
    {"busiest", bench_busiest},
};
enum { NPARTS = sizeof PARTS / sizeof *PARTS };

/* The next item of a comma-separated list, in `item`; false at its end. */
static bool next_item(const char **list, char item[32])
{
    if (!**list)
        return false;
    const size_t length = strcspn(*list, ",");
    (void)snprintf(item, 32, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

static enum status parse_sizes(struct bench *b, struct error *e)
{
    char item[32];
    for (const char *list = b->o.sizes; next_item(&list, item);) {
        if (b->nsizes == SIZES_MAX)
            return error_set(e, STATUS_USAGE, "--sizes: at most %d", SIZES_MAX);
        const enum status s = parse_int(item, 16, 16384, "--sizes", &b->sizes[b->nsizes++], e);
        if (s)
            return s;
    }
    return STATUS_OK;
}

static enum status check_parts(const struct bench *b, struct error *e)
{
    char item[32];
    for (const char *list = b->o.parts; next_item(&list, item);) {
        int i = 0;
        while (i < NPARTS && strcmp(PARTS[i].name, item) != 0)
            i++;
        if (i == NPARTS)
            return error_set(e, STATUS_USAGE, "--parts: unknown part '%s'; --help lists the parts",
                             item);
    }
    return STATUS_OK;
}

static enum status run_parts(struct bench *b, struct error *e)
{
    char item[32];
    enum status s = bench_machine(b, e);
    for (const char *list = b->o.parts; !s && next_item(&list, item);)
        for (int i = 0; i < NPARTS && !s; i++)
            if (strcmp(PARTS[i].name, item) == 0)
                s = PARTS[i].run(b, e);
    if (b->unsteady)
        printf(
            "\n%d results vary by more than 5 %% from round to round (marked !): the machine was "
            "busy or the times are short.\n",
            b->unsteady);
    return s;
}

/* A path that stays right in another folder. */
static enum status make_absolute(const char **path, char *storage, struct error *e)
{
    if (!*path)
        return STATUS_OK;
    if (!realpath(*path, storage) || access(storage, X_OK) != 0)
        return error_errno(e, STATUS_USAGE, "%s: cannot be run", *path);
    *path = storage;
    return STATUS_OK;
}

static enum status run(struct bench *b, struct error *e)
{
    static char peer[PATH_MAX], noise_peer[PATH_MAX];
    enum status s = parse_sizes(b, e);
    if (s || (s = check_parts(b, e)) || (s = make_absolute(&b->o.peer, peer, e)) ||
        (s = make_absolute(&b->o.noise_peer, noise_peer, e)))
        return s;
    const char *where = getenv("TMPDIR");
    (void)snprintf(b->scratch, sizeof b->scratch, "%s/bench-XXXXXX", where ? where : "/tmp");
    if (!mkdtemp(b->scratch))
        return error_errno(e, STATUS_FAILED, "%s", b->scratch);
    if (b->o.out && !(b->json = fopen(b->o.out, "a")))
        return error_errno(e, STATUS_FAILED, "%s", b->o.out);
    s = run_parts(b, e);
    if (b->json && fclose(b->json) != 0 && !s)
        s = error_errno(e, STATUS_FAILED, "%s", b->o.out);
    if (b->o.keep_artifacts || b->o.profile)
        printf("\nartifacts: %s\n", b->scratch);
    else
        folder_remove(b->scratch);
    return s;
}

int main(int argc, char **argv)
{
    program_sleeps(argv);  // spinning would count as the CPU time of whoever runs next
    struct bench b = {.o = {.iterations = 3,
                            .processes = 5,
                            .frames = 12,
                            .parts = "kernel,closed,smear,diffuse,reflections,derivatives,"
                                     "background,noise,stream,transport,"
                                     "output,sinks,cold,pipeline,score,refine,boundary"}};
    struct error e = {0};
    int noperands;
    log_open(PROGRAM.name);
    enum status s =
        opt_parse(&PROGRAM, OPTIONS, &b.o, NULL, NULL, argc, argv, NULL, &noperands, &e);
    b.o.has_sizes = opt_given(OPTIONS, &b.o, "sizes");
    b.o.has_threads = opt_given(OPTIONS, &b.o, "threads");
    if (!s)
        s = run(&b, &e);
    return s ? log_fail(&e) : STATUS_OK;
}
