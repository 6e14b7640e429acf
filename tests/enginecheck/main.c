/* The command line of enginecheck, which check.h describes. */
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <omp.h>

#include "base/log.h"
#include "base/opt.h"
#include "check.h"

struct options {
    int engine;  // index into ENGINES
    int isa;     // index into ISAS
    const char *label, *out;
};

static const struct engine *const ENGINES[] = {&engine_cuda, &engine_cuda_host, &engine_cpu};
static const char *const ISAS[] = {"baseline", "avx2", "avx512"};

#define AT(member) .offset = offsetof(struct options, member)

static const struct opt OPTIONS[] = {
    {"engine", "NAME", "cuda; host: the same on this processor; cpu: the CPU engine (cuda)",
     OPT_CHOICE, AT(engine), .choices = "cuda|host|cpu"},
    {"isa", "NAME", "Instruction set of host and cpu (the best)", OPT_CHOICE, AT(isa),
     .choices = "baseline|avx2|avx512", .usual = ""},
    {"label", "NAME", "Label of the case that golden computes", OPT_TEXT, AT(label)},
    {"out", "FILE", "Append JSON lines", OPT_TEXT, AT(out)},
    {0},
};

static const struct opt_program PROGRAM = {
    .name = "enginecheck",
    .summary = "Compare the CUDA engine with the reference.",
    .max_operands = 3,
    .operands = "probe | table | bytes | random N SEED | golden -FLAG... | times SIZE [WORKLOAD] | "
                "after SIZE | derive SIZE | reflections SIZE | closed SIZE | stream SIZE | first "
                "SIZE | frame SIZE | go-on | hand SIZE | hand-sums SIZE | hand-counts SIZE",
    .details = "probe: what card there is.  table: every case of the unit tests.  bytes: whether "
               "they come out the same twice, and as on the processor.  random: N cases drawn by "
               "chance.  golden: one command line of nanoBragg.  times: the workloads of the "
               "benchmark at SIZE x SIZE pixels, or the one of that number.  after: background and "
               "noise on the card.  derive, reflections, closed: likewise.  "
               "stream: frames with both into another process.  first: from the start of a "
               "process to its first frame, which frame makes.  go-on: background and noise from "
               "photons on.  hand: three processes that hand frames on on the card, of which "
               "hand-sums and hand-counts are the last.",
};

static enum status probe(struct run *run, const int64_t *numbers, struct error *e)
{
    (void)numbers;
    struct experiment x = {0};
    struct recipe r = {0};
    struct plan *plan = NULL;
    char date[32];
    const time_t now = time(NULL);
    struct tm utc;
    (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    enum status s = case_build(&(struct engine_case){.pixels = 16}, &x, &r, e);
    if (!s)
        s = run->engine->create(&plan, &x, &run->options, e);
    if (!s) {
        printf("%s\n", run->engine->describe(plan));
        if (run->json)
            (void)fprintf(run->json, "{\"part\": \"card\", \"device\": \"%s\", \"date\": \"%s\"}\n",
                          run->engine->describe(plan), date);
        run->engine->destroy(&plan);
    }
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

/* Modes other than golden, with how many numbers follow them. */
static const struct {
    const char *name;
    int numbers, more;  // number of arguments, of which `more` may be left out
    enum status (*perform)(struct run *run, const int64_t *numbers, struct error *e);
} MODES[] = {
    {"probe", 0, 0, probe},
    {"table", 0, 0, check_table},
    {"bytes", 0, 0, check_bytes},
    {"random", 2, 0, check_random},
    {"times", 2, 1, check_times},
    {"after", 1, 0, check_after},
    {"derive", 1, 0, check_derive},
    {"reflections", 1, 0, check_reflections},
    {"closed", 1, 0, check_closed},
    {"stream", 1, 0, check_stream},
    {"first", 1, 0, check_first},
    {"frame", 1, 0, check_frame},
    {"go-on", 0, 0, check_go_on},
    {"hand", 1, 0, check_hand},
    {"hand-sums", 1, 0, check_hand_sums},
    {"hand-counts", 1, 0, check_hand_counts},
};

static enum status perform(struct run *run, const char **operands, int count, struct error *e)
{
    static const int64_t most[] = {100000, 1000000};
    int64_t numbers[2] = {0};
    enum status s = STATUS_OK;
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        const int given = count - 1, most_given = MODES[i].numbers;
        if (!count || strcmp(operands[0], MODES[i].name) != 0 || given > most_given ||
            given < most_given - MODES[i].more)
            continue;
        for (int k = 1; k < count && !s; k++)
            s = parse_int(operands[k], k == 1, most[k - 1], MODES[i].name, &numbers[k - 1], e);
        return s ? s : MODES[i].perform(run, numbers, e);
    }
    return error_set(e, STATUS_USAGE, "must be %s", PROGRAM.operands);
}

/* Arguments from "golden" on are nanoBragg's. */
static int find_golden(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "golden"))
            return i;
    return argc;
}

static enum status go(struct run *run, int argc, char **argv, struct error *e)
{
    struct options o = {.label = "golden"};
    const char *operands[3];
    int count = 0;
    const int golden = find_golden(argc, argv);
    enum status s = opt_parse(&PROGRAM, OPTIONS, &o, NULL, NULL, golden, argv, operands, &count, e);
    if (s)
        return s;
    run->engine = ENGINES[o.engine];
    run->options = (struct engine_options){.threads = omp_get_max_threads(),
                                           .isa = o.isa >= 0 ? ISAS[o.isa] : NULL};
    if (o.out && !(run->json = fopen(o.out, "a")))
        return error_errno(e, STATUS_FAILED, "%s", o.out);
    if (golden < argc)
        return check_golden(run, o.label, argc - golden, argv + golden, e);
    return perform(run, operands, count, e);
}

int main(int argc, char **argv)
{
    struct error e = {0};
    struct run run = {0};
    log_open(PROGRAM.name);
    enum status s = go(&run, argc, argv, &e);
    if (run.json && fclose(run.json) != 0 && !s)
        s = error_errno(&e, STATUS_FAILED, "--out");
    if (!s && run.cases + run.skipped)
        printf("%d cases, %d failed, %d skipped; worst %.1e\n", run.cases, run.failed, run.skipped,
               run.worst);
    if (!s && run.pixels)
        printf("left out %zu of %zu pixels\n", run.unsteady, run.pixels);
    if (!s && run.failed)
        s = error_set(&e, STATUS_FAILED, "%d of %d cases failed", run.failed, run.cases);
    return s ? log_fail(&e) : STATUS_OK;
}
