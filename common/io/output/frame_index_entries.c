/* What a process knows of the frames of an index. */
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "io/output/frame_index_file.h"

static int compare(const void *a, const void *b)
{
    const uint64_t x = ((const struct index_entry *)a)->id, y = ((const struct index_entry *)b)->id;
    return (x > y) - (x < y);
}

/* An entry and its names in one piece, which free() frees. */
static struct index_entry *copy_entry(const struct index_entry *entry)
{
    const size_t length = strlen(entry->names) + 1;
    struct index_entry *copy = malloc(sizeof *copy + length);
    if (copy) {
        *copy = *entry;
        copy->names = memcpy(copy + 1, entry->names, length);
    }
    return copy;
}

enum status index_remember(struct frame_index *x, const struct index_entry *entry, struct error *e)
{
    struct index_entry *copy = copy_entry(entry);
    struct index_entry **found = copy ? tsearch(copy, &x->entries, compare) : NULL;
    if (!found) {
        free(copy);
        return error_memory(e, "the index");
    }
    if (*found != copy) {
        free(*found);
        *found = copy;
    }
    return STATUS_OK;
}

const struct index_entry *frame_index_find(const struct frame_index *x, uint64_t id)
{
    const struct index_entry key = {.id = id};
    struct index_entry *const *found = tfind(&key, &x->entries, compare);
    return found ? *found : NULL;
}

bool frame_index_has(const struct frame_index *x, uint64_t id, const char *names, uint64_t bytes)
{
    const struct index_entry *found = frame_index_find(x, id);
    return found && found->bytes == bytes && strcmp(found->names, names) == 0;
}

const char *frame_index_name(const char *index, const char *path)
{
    const char *slash = strrchr(index, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - index) : 0;
    return strncmp(path, index, folder) == 0 ? path + folder : path;
}

bool frame_index_lists(const struct frame_index *x, uint64_t id, const char *path)
{
    const struct index_entry *entry = frame_index_find(x, id);
    const char *name = frame_index_name(x->path, path);
    const size_t length = strlen(name);
    for (const char *at = entry ? entry->names : ""; *at; at += *at == '\t') {
        const size_t word = strcspn(at, "\t");
        if (word == length && strncmp(at, name, length) == 0)
            return true;
        at += word;
    }
    return false;
}

struct collector {
    struct id_set *ids;
    bool failed;
};

static void collect(const void *node, VISIT visit, void *collector)
{
    const struct index_entry *const *entry = node;
    struct collector *c = collector;
    if ((visit == postorder || visit == leaf) && !id_set_add(c->ids, (*entry)->id))
        c->failed = true;
}

enum status frame_index_ids(const struct frame_index *x, struct id_set *ids, struct error *e)
{
    struct collector c = {.ids = ids};
    twalk_r(x->entries, collect, &c);
    return c.failed ? error_memory(e, "the index") : STATUS_OK;
}

enum status frame_index_check(const struct frame_index *x, uint64_t id, uint32_t crc,
                              struct error *e)
{
    const struct index_entry *found = frame_index_find(x, id);
    if (!found || found->crc == crc)
        return STATUS_OK;
    return error_set(e, STATUS_FAILED,
                     "%s: frame %" PRIu64 " came with other pixels before (checksum %08" PRIx32
                     ", now %08" PRIx32 "): the same recipe must give the same bytes",
                     x->path, id, found->crc, crc);
}
