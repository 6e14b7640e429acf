/* What affects the bytes that leave a stage, as a hash and as the history in headers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/history.h"
#include "base/version.h"
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

enum status worker_extend_lineage(struct worker *w, struct error *e)
{
    struct experiment *x = &w->experiment;
    uint64_t contents = HASH_START;
    const enum status s = w->stage->wants == KIND_NONE ? hash_contents(w, &contents, e) : STATUS_OK;
    if (s)
        return s;
    char *text = mem_array(2 * LINEAGE_TEXT, 1);
    if (!text)
        return error_memory(e, "the lineage");
    size_t used = opt_lineage(w->stage->options, w->state, text, LINEAGE_TEXT - LINEAGE_MORE);
    if (used > LINEAGE_TEXT - LINEAGE_MORE - 1)
        used = LINEAGE_TEXT - LINEAGE_MORE - 1;
    (void)snprintf(text + used, LINEAGE_MORE, "identity class=%s\nphysics version=%d\n",
                   worker_identity(w), PHYSICS_VERSION);
    if (w->stage->wants == KIND_NONE)
        (void)snprintf(text + strlen(text), LINEAGE_MORE / 2, "content of files=%016" PRIx64 "\n",
                       hash_finish(contents));
    uint64_t hash = hash_text(HASH_START, x->lineage);
    hash = hash_text(hash, w->stage->name);
    hash = hash_text(hash, text);
    (void)snprintf(x->lineage, sizeof x->lineage, "%016" PRIx64, hash_finish(hash));
    if (w->has_words)
        (void)snprintf(text + strlen(text), LINEAGE_TEXT, HISTORY_GIVEN "=%s\n", w->words);
    history_append(x->history, sizeof x->history, w->stage->name, text);
    mem_free(text);
    return STATUS_OK;
}
