#include "stage/guest.h"

#include <string.h>

#include "base/alloc.h"
#include "base/words.h"
#include "stage/worker.h"

enum { WORDS_MAX = 256 };

static enum status parse(struct guest *g, const char *options, int64_t threads, struct error *e)
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
    if (!g->text || !g->state)
        return error_memory(e, "the options");
    if (!words_split(g->text, argv + 1, WORDS_MAX, &count))
        return error_set(e, STATUS_USAGE, "'%.60s' is not words parted by one blank, with 'quotes'",
                         options);
    if (t)
        *(int64_t *)(void *)((char *)g->state + t->offset) = threads;
    const enum status s = opt_parse(&program, stage->options, g->state, NULL, NULL, (int)count + 1,
                                    argv, operands, &noperands, e);
    g->words = s ? NULL : stage_words(stage, g->state);
    return s;
}

/* Whose error it is, before its text. */
static enum status name_error(const struct guest *g, enum status s, struct error *e)
{
    if (s == STATUS_OK || !e || !e->text[0])
        return s;
    const struct error was = *e;
    return error_set(e, s, "%s: %s", g->stage->role.name, was.text);
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
