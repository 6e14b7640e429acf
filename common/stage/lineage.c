/*
 * The lineage: everything that affects the bytes of the frames that leave a stage, as a hash, and
 * the history that file headers show.  Fused stages are other stages whose work this process does
 * as well (struct fused_stage); the lineage lists them as if they were separate processes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/history.h"
#include "base/program.h"
#include "base/text.h"
#include "stage/stage.h"
#include "stage/worker.h"

/* Sizes in bytes: of the text whose hash is the lineage, and of the last lines of this text,
 * which follow the options. */
enum { LINEAGE_TEXT = 16384, LINEAGE_MORE = 256 };

const char *stage_identity(const struct stage *stage, void *state)
{
    return stage->identity ? stage->identity(state) : "any";
}

/* Adds the content of the experiment that a first stage has made to *hash. */
static enum status hash_contents(struct experiment *x, uint64_t *hash, struct error *e)
{
    struct message m = {0};
    const enum status s = codec_experiment_encode(x, &m, e);
    for (size_t i = 1; s == STATUS_OK && i < m.nparts; i++)
        *hash = hash_bytes(*hash, m.parts[i].data, m.parts[i].size);
    message_free(&m);
    return s;
}

/* Writes the line of the history with the options given, `words`, and the values that the stage
 * has chosen to text[LINEAGE_TEXT]. */
static void append_words(const struct stage *stage, const void *state, const char *words,
                         char *text)
{
    const size_t name =
        (size_t)snprintf(text, LINEAGE_TEXT, HISTORY_GIVEN "=%s", words) - strlen(words);
    (void)opt_add_chosen(stage->options, state, text + name, LINEAGE_TEXT - LINEAGE_MORE);
    (void)snprintf(text + strlen(text), LINEAGE_MORE / 2, "\n");
}

/* Adds a stage to the lineage and to the history of the experiment.  `words`: options that only
 * the history lists; NULL: none. */
static enum status extend(struct experiment *x, const struct stage *stage, void *state,
                          const char *words, struct error *e)
{
    const bool first = stage->role.wants == KIND_NONE;
    uint64_t contents = HASH_START;
    const enum status s = first ? hash_contents(x, &contents, e) : STATUS_OK;
    if (s)
        return s;
    char *text = mem_array(2 * LINEAGE_TEXT, 1);
    (void)opt_lineage(stage->options, state, text, LINEAGE_TEXT - LINEAGE_MORE);
    (void)snprintf(text + strlen(text), LINEAGE_MORE, "identity class=%s\nphysics version=%d\n",
                   stage_identity(stage, state), PHYSICS_VERSION);
    if (first)
        (void)snprintf(text + strlen(text), LINEAGE_MORE / 2, "content of files=%016" PRIx64 "\n",
                       hash_finish(contents));
    uint64_t hash = hash_text(HASH_START, x->lineage);
    hash = hash_text(hash, stage->role.name);
    hash = hash_text(hash, text);
    (void)snprintf(x->lineage, sizeof x->lineage, "%016" PRIx64, hash_finish(hash));
    if (words)
        append_words(stage, state, words, text + strlen(text));
    history_append(x->history, sizeof x->history, stage->role.name, text);
    mem_free(text);
    return STATUS_OK;
}

char *stage_words(const struct stage *stage, const void *state)
{
    enum { SIZE = LINEAGE_TEXT - LINEAGE_MORE };
    char *words = mem_array(SIZE, 1);
    if (opt_words(stage->options, state, words, SIZE))
        return words;
    mem_free(words);
    return NULL;
}

enum status worker_extend_lineage(struct worker *w, struct error *e)
{
    const struct fused_stage *g = NULL;
    enum status s = extend(&w->experiment, &w->stage, w->state, w->words, e);
    const size_t n = w->stage.fused ? w->stage.fused(w->state, &g) : 0;
    for (size_t i = 0; i < n && s == STATUS_OK; i++)
        s = extend(&w->experiment, g[i].stage, g[i].state, g[i].words, e);
    return s;
}

/* --- fused stages -------------------------------------------------------------------------- */

enum { WORDS_MAX = 256 };

static enum status parse(struct fused_stage *g, const char *options, int64_t threads,
                         struct error *e)
{
    const struct stage *stage = g->stage;
    const struct opt_program program = {.name = stage->role.name, .summary = stage->summary};
    const struct opt *t = opt_find(stage->options, "threads", strlen("threads"));
    char *argv[WORDS_MAX + 2] = {(char *)(uintptr_t)stage->role.name};
    const char *operands[1];
    size_t count;
    int noperands;
    g->text = mem_copy(options, strlen(options) + 1, 1);
    g->state = mem_array(1, stage->state_size);
    if (!words_split(g->text, argv + 1, WORDS_MAX, &count))
        return error_set(e, STATUS_USAGE,
                         "'%.60s' is not a list of options; expected words separated by one blank, "
                         "with 'quotes' where needed",
                         options);
    if (t)
        *(int64_t *)(void *)((char *)g->state + t->offset) = threads;
    const enum status s = opt_parse(&program, stage->options, g->state, NULL, NULL, (int)count + 1,
                                    argv, operands, &noperands, e);
    g->words = s ? NULL : stage_words(stage, g->state);
    return s;
}

/* Inserts the name of the stage before the text of the error *e, if there is one.  Returns `s`. */
static enum status name_error(const struct fused_stage *g, enum status s, struct error *e)
{
    if (s == STATUS_OK || !e || !e->text[0])
        return s;
    const struct error was = *e;
    return error_set(e, s, "%s: %s", g->stage->role.name, was.text);
}

enum status fused_stage_open(struct fused_stage *g, const struct stage *stage, const char *options,
                             int64_t threads, struct error *e)
{
    *g = (struct fused_stage){.stage = stage};
    enum status s = parse(g, options, threads, e);
    g->opened = s == STATUS_OK;
    if (s == STATUS_OK && stage->open)
        s = stage->open(g->state, NULL, 0, e);
    return name_error(g, s, e);
}

enum status fused_stage_begin(struct fused_stage *g, struct experiment *x, struct error *e)
{
    const enum status s = g->stage->begin ? g->stage->begin(g->state, x, e) : STATUS_OK;
    return name_error(g, s, e);
}

enum status fused_stage_frame(struct fused_stage *g, struct frame *f, struct error *e)
{
    return name_error(g, g->stage->frame(g->state, f, e), e);
}

void fused_stage_close(struct fused_stage *g)
{
    if (g->opened && g->stage->close)
        g->stage->close(g->state);
    mem_free(g->state);
    mem_free(g->text);
    mem_free(g->words);
    *g = (struct fused_stage){0};
}
