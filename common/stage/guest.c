#include "stage/guest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "stage/worker.h"

enum { WORDS_MAX = 256 };

static void set_threads(const struct stage *stage, void *state, int64_t threads)
{
    const struct opt *o = opt_find(stage->options, "threads", strlen("threads"));
    if (o)
        *(int64_t *)(void *)((char *)state + o->offset) = threads;
}

/* The same words as of the stage's own program, for the history. */
static void keep_words(struct guest *g)
{
    enum { SIZE = LINEAGE_TEXT - LINEAGE_MORE };
    g->words = mem_array(SIZE, 1);
    if (g->words && !opt_words(g->stage->options, g->state, g->words, SIZE)) {
        mem_free(g->words);
        g->words = NULL;
    }
}

static enum status parse(struct guest *g, const char *options, int64_t threads, struct error *e)
{
    const struct opt_program program = {.name = g->stage->name, .summary = g->stage->summary};
    char *argv[WORDS_MAX + 2] = {(char *)(uintptr_t)g->stage->name};
    const char *operands[1];
    size_t count;
    int noperands;
    const size_t length = strlen(options);
    g->text = mem_array(length + 1, 1);
    g->state = mem_array(1, g->stage->state_size);
    enum status s = STATUS_OK;
    if (!g->text || !g->state)
        s = error_memory(e, "the options");
    else if (memcpy(g->text, options, length), !words_split(g->text, argv + 1, WORDS_MAX, &count))
        s = error_set(e, STATUS_USAGE, "'%.60s' is not words parted by one blank, with 'quotes'",
                      options);
    if (s == STATUS_OK) {
        set_threads(g->stage, g->state, threads);
        s = opt_parse(&program, g->stage->options, g->state, NULL, NULL, (int)count + 1, argv,
                      operands, &noperands, e);
    }
    if (s == STATUS_OK)
        keep_words(g);
    return s;
}

/* Whose error it is, before its text. */
static enum status name_error(const struct guest *g, enum status s, struct error *e)
{
    if (s == STATUS_OK || !e || !e->text[0])
        return s;
    const struct error was = *e;
    return error_set(e, s, "%s: %s", g->stage->name, was.text);
}

enum status guest_open(struct guest *g, const struct stage *stage, const char *options,
                       int64_t threads, struct error *e)
{
    *g = (struct guest){.stage = stage};
    enum status s = parse(g, options, threads, e);
    g->opened = s == STATUS_OK;
    if (s == STATUS_OK && stage->open)
        s = stage->open(g->state, NULL, 0, e);
    return name_error(g, s, e);
}

enum status guest_begin(struct guest *g, struct experiment *x, struct error *e)
{
    const enum status s = g->stage->begin ? g->stage->begin(g->state, x, e) : STATUS_OK;
    return name_error(g, s, e);
}

enum status guest_frame(struct guest *g, struct frame *f, struct error *e)
{
    return name_error(g, g->stage->frame(g->state, f, e), e);
}

void guest_close(struct guest *g)
{
    if (g->opened && g->stage->close)
        g->stage->close(g->state);
    mem_free(g->state);
    mem_free(g->text);
    mem_free(g->words);
    *g = (struct guest){0};
}
