/* What is there already of a series of NXmx files. */
#include <unistd.h>

#include "io/nxmx_series.h"

/* Reads what the file says of its frames, and notes when it is another one. */
static void look(struct nxmx_series *s, const char *path, uint64_t file, const char *lineage,
                 struct nxmx_rows *rows)
{
    nxmx_rows_free(rows);
    if (!nxmx_read_rows(path, lineage, rows) && access(path, F_OK) == 0)
        (void)id_set_add(&s->found.lost, file);
}

void nxmx_series_recall(struct nxmx_series *s, const char *lineage)
{
    look(s, s->master, NXMX_MASTER, lineage, &s->known.rows);
}

bool nxmx_series_holds(struct nxmx_series *s, const char *lineage, uint64_t id)
{
    char path[TEMPLATE_PATH_MAX];
    const uint64_t file = nxmx_series_number(s, id);
    if (s->found.file != file) {
        template_name(&s->data, file, path);
        look(s, path, file, lineage, &s->found.rows);
        s->found.file = file;
    }
    return nxmx_rows_find(&s->known.rows, id) >= 0 && nxmx_rows_find(&s->found.rows, id) >= 0;
}
