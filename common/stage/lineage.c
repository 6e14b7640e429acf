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

/* Hash of all that a first stage has made. */
static enum status hash_contents(struct worker *w, uint64_t *hash, struct error *e)
{
    struct message m = {0};
    const enum status s = codec_experiment_encode(&w->experiment, &m, e);
    for (size_t i = 1; s == STATUS_OK && i < m.nparts; i++)
        *hash = hash_bytes(*hash, m.parts[i].data, m.parts[i].size);
    message_free(&m);
    return s;
}

/* A stage of which the output tells. */
struct teller {
    const struct stage *stage;
    const void *state;
    const char *identity;  // class
    const char *words;     // options that were given, NULL: they found no room
    uint64_t contents;     // of a first stage
};

static enum status extend(struct experiment *x, const struct teller *t, struct error *e)
{
    char *text = mem_array(2 * LINEAGE_TEXT, 1);
    if (!text)
        return error_memory(e, "the lineage");
    size_t used = opt_lineage(t->stage->options, t->state, text, LINEAGE_TEXT - LINEAGE_MORE);
    if (used > LINEAGE_TEXT - LINEAGE_MORE - 1)
        used = LINEAGE_TEXT - LINEAGE_MORE - 1;
    (void)snprintf(text + used, LINEAGE_MORE, "identity class=%s\nphysics version=%d\n",
                   t->identity, PHYSICS_VERSION);
    if (t->stage->wants == KIND_NONE)
        (void)snprintf(text + strlen(text), LINEAGE_MORE / 2, "content of files=%016" PRIx64 "\n",
                       hash_finish(t->contents));
    uint64_t hash = hash_text(HASH_START, x->lineage);
    hash = hash_text(hash, t->stage->name);
    hash = hash_text(hash, text);
    (void)snprintf(x->lineage, sizeof x->lineage, "%016" PRIx64, hash_finish(hash));
    if (t->words)
        (void)snprintf(text + strlen(text), LINEAGE_TEXT, HISTORY_GIVEN "=%s\n", t->words);
    history_append(x->history, sizeof x->history, t->stage->name, text);
    mem_free(text);
    return STATUS_OK;
}

enum status worker_extend_lineage(struct worker *w, struct error *e)
{
    struct teller t = {w->stage, w->state, worker_identity(w), w->has_words ? w->words : NULL,
                       HASH_START};
    enum status s = w->stage->wants == KIND_NONE ? hash_contents(w, &t.contents, e) : STATUS_OK;
    if (s == STATUS_OK)
        s = extend(&w->experiment, &t, e);
    const struct guest *guests = NULL;
    const size_t n = w->stage->guests ? w->stage->guests(w->state, &guests) : 0;
    for (size_t i = 0; i < n && s == STATUS_OK; i++) {
        const struct guest *g = &guests[i];
        t = (struct teller){g->stage, g->state, "any", g->words, HASH_START};
        s = extend(&w->experiment, &t, e);
    }
    return s;
}
