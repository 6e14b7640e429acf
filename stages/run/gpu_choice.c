/* Chooses the engine of bragg-intensity, and the number of writers after it, for a host with a
 * GPU. */
#include "stages/run/gpu_choice.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "gpu/refused.h"
#include "run/pipeline/commands.h"
#include "run/pipeline/find_program.h"

enum { REASON_SIZE = 256 };

/* --- the GPUs --------------------------------------------------------------------- */

/* Returns true if the stage is a bragg-intensity without --engine. */
static bool has_open_engine(const struct pipeline_stage *s)
{
    return pipeline_is_program(s, "bragg-intensity") && !pipeline_has(s, "engine");
}

/* Copies the cause of an error line "PROGRAM: --engine=cuda: CAUSE. HINT" to `to`. */
static void take_cause(const char *line, char *to, size_t size)
{
    static const char subject[] = "--engine=cuda: ";
    const char *begin = strstr(line, subject);
    begin = begin ? begin + strlen(subject) : line;
    (void)snprintf(to, size, "%.*s", (int)size - 1, begin);
    char *hint = strstr(to, ". ");
    if (hint)
        *hint = 0;
}

/* Sets g->name, or else g->problem, to the answer of `program` to --gpus. */
static void ask(struct gpu_choice *g, const char *program)
{
    char command[4096], line[400] = "", next[400], *found = program_find(program);
    const bool plain = found && !strchr(found, '\'');
    (void)snprintf(command, sizeof command, "'%s' --gpus </dev/null 2>&1", plain ? found : "");
    FILE *in = plain ? popen(command, "re") : NULL;
    while (in && fgets(next, sizeof next, in))
        if (!line[0] || strncmp(next, "bragg-", strlen("bragg-")) == 0)
            memcpy(line, next, sizeof line);  // the first GPU, or an error
    const bool good = in && pclose(in) == 0;
    line[strcspn(line, "\n")] = 0;
    if (good && line[0])
        (void)snprintf(g->name, sizeof g->name, "%.*s", (int)strcspn(line, ","), line);
    else if (line[0])
        take_cause(line, g->problem, sizeof g->problem);
    else
        (void)snprintf(g->problem, sizeof g->problem, "'%.60s --gpus' gives no answer", program);
    mem_free(found);
}

void gpu_choice_find(struct gpu_choice *g, const struct pipeline *p, const char *kept)
{
    *g = (struct gpu_choice){.kept = kept, .gpus = affinity_count_gpus()};
    for (size_t i = 0; i < p->nstages && g->gpus && !kept; i++)
        if (has_open_engine(&p->stages[i])) {
            ask(g, p->stages[i].program);
            return;
        }
}

/* --- the engine ------------------------------------------------------------------- */

/* Most processes of bragg-intensity that one GPU serves by choice.  Each has tables and buffers of
 * its own in the memory of the GPU, which takes 0.15 ms to change from one process to the next
 * (braggpipe-speed(7), GPU).  Not measured: one process keeps a GPU busy, two hide its waits. */
enum { PROCESSES_OF_GPU = 4 };

struct option_of {
    const char *program, *option;
};

/* Returns the stage number i, or a stage before it, that runs `program`.  NULL: there is none. */
static const struct pipeline_stage *find_before(const struct pipeline *p, size_t i,
                                                const char *program)
{
    for (int k = (int)i; k >= 0; k = p->stages[k].input)
        if (pipeline_is_program(&p->stages[k], program))
            return &p->stages[k];
    return NULL;
}

/* Returns true if a stage has an option, also for one of several crystals: --crystal='KEY=VALUE...'
 * of bragg-geometry. */
static bool has_option(const struct pipeline_stage *s, const char *option)
{
    static const char crystal[] = "--crystal=";
    bool has = pipeline_has(s, option);
    for (size_t i = 0; i < s->nargs && !has; i++)
        has = strncmp(s->args[i], crystal, strlen(crystal)) == 0 && strstr(s->args[i], option);
    return has;
}

/* Returns the first option of a list that stage number i, or a stage before it, has. */
static const char *option_before(const struct pipeline *p, size_t i, const struct option_of *list,
                                 size_t length)
{
    for (size_t k = 0; k < length; k++) {
        const struct pipeline_stage *s = find_before(p, i, list[k].program);
        if (s && has_option(s, list[k].option))
            return list[k].option;
    }
    return NULL;
}

/* Returns the option that a user gives for digits, or for an instruction set, of the CPU. */
static const char *option_for_cpu(const struct pipeline *p, size_t i)
{
    const struct pipeline_stage *s = &p->stages[i], *geometry = find_before(p, i, "bragg-geometry");
    const char *precision = pipeline_value(s, "precision"),
               *physics = geometry ? pipeline_value(geometry, "physics") : NULL;
    if (precision && strcmp(precision, "mixed") != 0)
        return "precision";
    if (physics && strcmp(physics, "physical") != 0)
        return "physics";
    return pipeline_has(s, "isa") ? "isa" : NULL;
}

#define LIST(program, option, ...) {program, option},
static const struct option_of refused[] = {GPU_REFUSES(LIST)},
                              refused_for_some[] = {GPU_REFUSES_SOME(LIST)};
#undef LIST

/* Writes the option that the GPU engine may not support to `text`.  Returns false if there is
 * none. */
static bool is_refused(const struct pipeline *p, size_t i, char text[REASON_SIZE])
{
    const char *option = option_before(p, i, refused, sizeof refused / sizeof *refused),
               *some = option_before(p, i, refused_for_some,
                                     sizeof refused_for_some / sizeof *refused_for_some);
    if (option || some)
        (void)snprintf(text, REASON_SIZE, "the GPU engine does not support --%s%s",
                       option ? option : some, option ? "" : " for all experiments");
    return option || some;
}

/* Writes to `text` why stage number i, a bragg-intensity without --engine, stays on the CPU.
 * Returns false if it should not. */
static bool stays_on_cpu(const struct gpu_choice *g, const struct pipeline *p, size_t i,
                         char text[REASON_SIZE])
{
    const int64_t count = p->stages[i].count;
    const char *option = option_for_cpu(p, i);
    if (!g->gpus)
        (void)snprintf(text, REASON_SIZE, "this host has no GPU");
    else if (g->kept)
        (void)snprintf(text, REASON_SIZE, "of --%s", g->kept);
    else if (g->problem[0])
        (void)snprintf(text, REASON_SIZE, "%s", g->problem);
    else if (option)
        (void)snprintf(text, REASON_SIZE, "of --%s", option);
    else if (!find_before(p, i, "bragg-geometry"))
        (void)snprintf(
            text, REASON_SIZE,
            "the pipeline has no bragg-geometry whose options the GPU engine may refuse");
    else if (count > PROCESSES_OF_GPU * g->gpus)
        (void)snprintf(text, REASON_SIZE,
                       "%" PRId64 " processes are too many for %" PRId64 " GPU%s", count, g->gpus,
                       g->gpus > 1 ? "s" : "");
    else
        return is_refused(p, i, text);
    return true;
}

enum status gpu_choice_engines(const struct gpu_choice *g, struct pipeline *p, struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < p->nstages && !status; i++) {
        char text[REASON_SIZE];
        struct pipeline_stage *s = &p->stages[i];
        if (!has_open_engine(s) || stays_on_cpu(g, p, i, text))
            continue;
        status = pipeline_set(s, "engine", "cuda", e);
        s->chosen = true;
    }
    return status;
}

/* --- writers ---------------------------------------------------------------------- */

/* Returns how many processes of bragg-write take the images of a GPU.  An NVIDIA H100 with 16 cores
 * writes 24 frames of an Eiger 16M per second with one, 43 with 4, and 42 with 8
 * (bench/results/nvidia-h100-rates.jsonl), because one process compresses with at most 16 threads,
 * and computes checksums and writes with one. */
static int64_t writers_for(int64_t cores)
{
    return cores >= 16 ? 4 : 1;
}

static bool ends_in(const char *name, const char *suffix)
{
    const size_t length = strlen(name), end = strlen(suffix);
    return length > end && strcmp(name + length - end, suffix) == 0;
}

/* Returns true if all templates of a bragg-write are NXmx.  Other formats have not been measured.
 * CXI is a single file. */
static bool writes_nxmx(const struct pipeline_stage *s)
{
    const char *format = pipeline_value(s, "format");
    bool any = false, only = !format || strcmp(format, "auto") == 0 || strcmp(format, "nxmx") == 0;
    for (size_t i = 0; i < s->nargs; i++) {
        const char *name = s->args[i];
        if (strncmp(name, "--", 2) == 0)
            continue;
        any = true;
        only = only && (ends_in(name, ".nxs") || ends_in(name, ".h5"));
    }
    return any && only;
}

/* Returns true if a GPU computes the images that stage number i takes. */
static bool takes_from_gpu(const struct pipeline *p, size_t i)
{
    const struct pipeline_stage *s = find_before(p, i, "bragg-intensity");
    const char *engine = s ? pipeline_value(s, "engine") : NULL;
    return engine && strcmp(engine, "cuda") == 0;
}

/* Returns true if several processes of stage number i may write the images of a GPU. */
static bool writes_from_gpu(const struct pipeline *p, size_t i)
{
    return pipeline_is_program(&p->stages[i], "bragg-write") && takes_from_gpu(p, i) &&
           writes_nxmx(&p->stages[i]);
}

/* Returns why stage number i keeps its number of processes; NULL: nothing needs that. */
static const char *reason_for_one_writer(const struct gpu_choice *g, const struct pipeline_stage *s)
{
    static const char *const options[] = {"powder-sum", "order", "threads"};
    if (g->kept)
        return g->kept;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (pipeline_has(s, options[i]))
            return options[i];
    return s->hosts ? "hosts" : s->cpus ? "cpus" : NULL;
}

void gpu_choice_writers(const struct gpu_choice *g, struct pipeline *p, int64_t cores)
{
    for (size_t i = 0; i < p->nstages; i++) {
        struct pipeline_stage *s = &p->stages[i];
        if (s->has_count || !writes_from_gpu(p, i) || reason_for_one_writer(g, s))
            continue;
        s->count = writers_for(cores);
        s->chosen = s->count > 1;
    }
}

/* --- reasons ---------------------------------------------------------------------- */

static void print_chosen_engine(const struct gpu_choice *g, const struct pipeline_stage *s,
                                FILE *out)
{
    fprintf(out,
            "because this host has a GPU, %s. Last digits can differ from those of the CPU; "
            "--as-written or --set=%s.engine=cpu keeps the CPU\n",
            g->name, s->name);
}

static void print_chosen_writers(const struct pipeline_stage *s, FILE *out)
{
    fprintf(out,
            "because one can be slower than the GPU. Images are in other data files, with the same "
            "content; --count=%s=1 keeps one\n",
            s->name);
}

static void print_engine(const struct gpu_choice *g, const struct pipeline *p, size_t i, FILE *out)
{
    char text[REASON_SIZE];
    const struct pipeline_stage *s = &p->stages[i];
    const char *engine = pipeline_value(s, "engine");
    fprintf(out, "# %s: engine %s, ", s->name, engine ? engine : "cpu");
    if (s->chosen)
        print_chosen_engine(g, s, out);
    else if (!engine && stays_on_cpu(g, p, i, text))
        fprintf(out, "because %s\n", text);
    else
        fputs("as given\n", out);
    if (s->count < g->gpus && engine && strcmp(engine, "cuda") == 0 && !s->gpus)
        fprintf(out,
                "# %s: GPUs in use %" PRId64 " of %" PRId64 ", because a process uses one; "
                "--count=%s=%" PRId64 " uses all\n",
                s->name, s->count, g->gpus, s->name, g->gpus);
}

void gpu_choice_print_engines(const struct gpu_choice *g, const struct pipeline *p, FILE *out)
{
    for (size_t i = 0; i < p->nstages; i++)
        if (pipeline_is_program(&p->stages[i], "bragg-intensity"))
            print_engine(g, p, i, out);
}

void gpu_choice_print_writers(const struct gpu_choice *g, const struct pipeline *p, int64_t cores,
                              FILE *out)
{
    for (size_t i = 0; i < p->nstages; i++) {
        const struct pipeline_stage *s = &p->stages[i];
        const char *reason = reason_for_one_writer(g, s);
        if (!writes_from_gpu(p, i))
            continue;
        if (s->chosen) {
            fprintf(out, "# %s: writers %" PRId64 ", ", s->name, s->count);
            print_chosen_writers(s, out);
        } else if (!s->has_count && reason && writers_for(cores) > 1) {
            fprintf(out, "# %s: writers 1, because of '%s'; %" PRId64 " could be faster\n", s->name,
                    reason, writers_for(cores));
        }
    }
}

void gpu_choice_tell(const struct gpu_choice *g, const struct pipeline *p, FILE *out)
{
    for (size_t i = 0; i < p->nstages; i++) {
        char text[REASON_SIZE];
        const struct pipeline_stage *s = &p->stages[i];
        const bool computes = pipeline_is_program(s, "bragg-intensity");
        if (s->chosen && computes) {
            fprintf(out, "bragg-run: '%s' computes with --engine=cuda, ", s->name);
            print_chosen_engine(g, s, out);
        } else if (s->chosen) {
            fprintf(out, "bragg-run: '%s' has %" PRId64 " processes, ", s->name, s->count);
            print_chosen_writers(s, out);
        } else if (g->gpus && !g->kept && has_open_engine(s) && stays_on_cpu(g, p, i, text)) {
            fprintf(out, "bragg-run: '%s' does not use the GPU of this host, because %s\n", s->name,
                    text);
        }
    }
}
