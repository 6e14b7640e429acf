/* What affects the bytes that leave a stage, as a hash and as the history in headers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/history.h"
#include "base/version.h"
#include "stage/guest.h"
#include "stage/worker.h"

/* Bytes of the text that the lineage is the hash of, and of its last lines. */
enum { LINEAGE_TEXT = 16384, LINEAGE_MORE = 256 };

/* Hash of all that a first stage has made. */
static enum status hash_contents(struct experiment *x, uint64_t *hash, struct error *e)
{
    struct message m = {0};
    const enum status s = codec_experiment_encode(x, &m, e);
    for (size_t i = 1; s == STATUS_OK && i < m.nparts; i++)
        *hash = hash_bytes(*hash, m.parts[i].data, m.parts[i].size);
    message_free(&m);
    return s;
}

/* The output tells of this stage, too, and of its `words`, if they found room. */
static enum status extend(struct experiment *x, const struct stage *stage, void *state,
                          const char *words, struct error *e)
{
    const bool first = stage->role.wants == KIND_NONE;
    uint64_t contents = HASH_START;
    const enum status s = first ? hash_contents(x, &contents, e) : STATUS_OK;
    if (s)
        return s;
    char *text = mem_array(2 * LINEAGE_TEXT, 1);
    if (!text)
        return error_memory(e, "the lineage");
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
        (void)snprintf(text + strlen(text), LINEAGE_TEXT, HISTORY_GIVEN "=%s\n", words);
    history_append(x->history, sizeof x->history, stage->role.name, text);
    mem_free(text);
    return STATUS_OK;
}

char *stage_words(const struct stage *stage, const void *state)
{
    enum { SIZE = LINEAGE_TEXT - LINEAGE_MORE };
    char *words = mem_array(SIZE, 1);
    if (words && opt_words(stage->options, state, words, SIZE))
        return words;
    mem_free(words);
    return NULL;
}

enum status worker_extend_lineage(struct worker *w, struct error *e)
{
    const struct guest *g = NULL;
    enum status s = extend(&w->experiment, &w->stage, w->state, w->words, e);
    const size_t n = w->stage.guests ? w->stage.guests(w->state, &g) : 0;
    for (size_t i = 0; i < n && s == STATUS_OK; i++)
        s = extend(&w->experiment, g[i].stage, g[i].state, g[i].words, e);
    return s;
}
