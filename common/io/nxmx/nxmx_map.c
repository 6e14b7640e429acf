#include "io/nxmx/nxmx_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { NAME_BYTES = 4096, RANK_MAX = 3 };

static int compare(const void *a, const void *b)
{
    const struct nxmx_run *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->first[NXMX_FRAMES] > y->first[NXMX_FRAMES]) -
           (x->first[NXMX_FRAMES] < y->first[NXMX_FRAMES]);
}

bool nxmx_map_make(struct nxmx_map *m, const struct nxmx_rows *rows, nxmx_name *name,
                   const void *owner)
{
    *m = (struct nxmx_map){.name = name, .owner = owner};
    m->runs = mem_array(rows->nframes, sizeof *m->runs);
    for (size_t i = 0; m->runs && i < rows->nframes; i++) {
        const uint64_t file = rows->frames[i].file;
        const uint64_t count[NXMX_AXES] = {1, rows->reflections[i].rows,
                                           rows->reflections[i].pixels};
        if (!i || m->runs[m->nruns - 1].file != file) {
            struct nxmx_run *run = &m->runs[m->nruns++];
            *run = (struct nxmx_run){.file = file};
            memcpy(run->first, m->total, sizeof run->first);
        }
        for (int axis = 0; axis < NXMX_AXES; axis++) {
            m->runs[m->nruns - 1].count[axis] += count[axis];
            m->total[axis] += count[axis];
        }
    }
    if (m->runs)
        qsort(m->runs, m->nruns, sizeof *m->runs, compare);
    return m->runs;
}

/* Maps the runs of one file, from which follow all items of its data set. */
static void map_file(const struct nxmx_map *m, size_t first, size_t end, struct hdf5_file *f,
                     hid_t made, hid_t space, enum nxmx_axis axis, hsize_t dims[RANK_MAX],
                     const char *path)
{
    char name[NAME_BYTES];
    const int rank = H5Sget_simple_extent_ndims(space);
    hsize_t start[RANK_MAX] = {0}, total = 0;
    for (size_t i = first; i < end; i++) {
        start[0] = m->runs[i].first[axis];
        dims[0] = m->runs[i].count[axis];
        if (dims[0])
            (void)hdf5_good(f, H5Sselect_hyperslab(space, total ? H5S_SELECT_OR : H5S_SELECT_SET,
                                                   start, NULL, dims, NULL));
        total += dims[0];
    }
    if (!total)
        return;
    dims[0] = total;
    const hid_t source = H5Screate_simple(rank, dims, NULL);
    m->name(m->owner, m->runs[first].file, name, sizeof name);
    (void)hdf5_good(f, H5Pset_virtual(made, space, name, path, source));
    (void)H5Sclose(source);
}

void nxmx_map_put(const struct nxmx_map *m, struct hdf5_file *f, hid_t made, enum nxmx_axis axis,
                  int ninner, const hsize_t *inner, const char *path)
{
    hsize_t dims[RANK_MAX] = {m->total[axis]};
    for (int i = 0; i < ninner; i++)
        dims[1 + i] = inner[i];
    const hid_t space = H5Screate_simple(1 + ninner, dims, NULL);
    for (size_t first = 0, end; first < m->nruns; first = end) {
        for (end = first; end < m->nruns && m->runs[end].file == m->runs[first].file;)
            end++;
        map_file(m, first, end, f, made, space, axis, dims, path);
    }
    (void)H5Sclose(space);
}

void nxmx_map_free(struct nxmx_map *m)
{
    mem_free(m->runs);
    *m = (struct nxmx_map){0};
}
