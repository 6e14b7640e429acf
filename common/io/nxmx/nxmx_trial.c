#include "io/nxmx/nxmx_trial.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "io/nxmx/nexus.h"
#include "io/nxmx/nxmx_layers.h"
#include "io/nxmx/nxmx_layout.h"
#include "io/nxmx/nxmx_reflections.h"
#include "io/nxmx/nxmx_rows.h"

/* What bragg-score reads beside tables. */
static void read_spindle(struct hdf5_file *f)
{
    const struct nexus n = {f->id, ""};
    char path[NEXUS_PATH];
    double v[3], length;
    struct error ignored;
    if (nexus_has(&n, "/entry/sample/transformations", "omega", path))
        (void)nexus_vector(&n, path, v, &length, &ignored);
}

void nxmx_try(struct hdf5_file *f)
{
    static char history[EXPERIMENT_HISTORY_SIZE];
    struct nxmx_rows rows;
    struct nxmx_kind kind = {0};
    struct nxmx_layers layers = {0};
    if (hdf5_read_text(f, NXMX_TRUTH "/history", history, sizeof history))
        history[0] = 0;
    if (nxmx_get_rows(f, &rows))
        (void)nxmx_get_spectra(f, &rows);
    nxmx_rows_free(&rows);
    if (nxmx_layers_find(f, &kind) && nxmx_layers_open(&layers, f, &kind))
        for (size_t i = 0; i < layers.count; i++)
            hdf5_touch(layers.data[i]);
    nxmx_layers_close(&layers);
    nxmx_columns_touch(f);
    read_spindle(f);
}

static void try_file(const char *path)
{
    struct hdf5_file f;
    struct error ignored;
    if (!hdf5_open(&f, path, nxmx_try, &ignored))
        nxmx_try(&f);
    hdf5_abort(&f);
}

void nxmx_try_series(struct hdf5_file *f)
{
    char master[PATH_MAX] = "", name[PATH_MAX], path[PATH_MAX];
    size_t count = 0;
    nxmx_try(f);
    (void)H5Fget_name(f->id, master, sizeof master);
    const char *slash = strrchr(master, '/');
    const hid_t data = hdf5_open_data(f->id, NXMX_DATA);
    const hid_t made = data >= 0 ? H5Dget_create_plist(data) : -1;
    if (made >= 0 && H5Pget_layout(made) == H5D_VIRTUAL)
        (void)H5Pget_virtual_count(made, &count);
    for (size_t i = 0; i < count; i++)
        if (H5Pget_virtual_filename(made, i, name, sizeof name) > 0 &&
            snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - master) : 0, master,
                     name) < PATH_MAX)
            try_file(path);
    if (made >= 0)
        (void)H5Pclose(made);
    if (data >= 0)
        (void)H5Dclose(data);
}
