#include "io/nxmx/nxmx_late.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "io/hdf5/spool.h"

/* Bytes of a record from which on a thread stores it.  The page cache takes about 0.2 ms for
 * 1 MiB, and a thread about 0.02 ms to wake up. */
enum { THREAD_BYTES_MIN = 1 << 20 };

/* Returns true if the data file is complete with the frame that was added last: the spool has
 * all of its frames, or the spool and the existing file together have them.  In the second case,
 * a frame that either of them already had (`had`) does not complete the file. */
static bool is_due(const struct nxmx_late *l, bool had)
{
    const struct nxmx_open_file *g = l->file;
    return id_set_size(&g->kept) >= l->per_file || (!had && id_set_size(&g->held) >= l->per_file);
}

static void store(void *late)
{
    struct nxmx_late *l = late;
    struct nxmx_open_file *g = l->file;
    l->due = l->gone = false;
    l->status = spool_hold(&g->spool, &l->gone, &l->error);
    if (l->status || l->gone)
        return;
    nxmx_open_file_note(g);
    const bool had = id_set_has(&g->held, l->parcel.record.id);
    l->status = spool_append(&g->spool, &l->parcel.record, l->sync, &l->error);
    nxmx_open_file_note(g);
    l->due = !l->status && is_due(l, had);
    if (!l->due)
        nxmx_open_file_release(g);
}

void nxmx_late_begin(struct nxmx_late *l)
{
    struct nxmx_parcel *p = &l->parcel;
    for (int i = 0; i + 2 < p->record.count; i++) {
        nxmx_chunk_take(&p->chunks[i]);
        p->pieces[1 + i].iov_base = p->chunks[i].own;
    }
    if (p->record.size < THREAD_BYTES_MIN)
        store(l);
    else
        errand_begin(&l->errand, store, l);
}

void nxmx_late_wait(struct nxmx_late *l)
{
    errand_wait(&l->errand);
}

void nxmx_late_repeat(struct nxmx_late *l)
{
    store(l);
}

void nxmx_late_close(struct nxmx_late *l)
{
    errand_close(&l->errand);
    for (size_t i = 0; i < NXMX_LAYERS_MAX; i++)
        nxmx_chunk_free(&l->parcel.chunks[i]);
    mem_free(l->parcel.rest);
    l->parcel.rest = NULL;
}
