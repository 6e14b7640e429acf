/* Writes derivative images next to a raw image. */
#include "output_planes.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "io/images/image_file.h"
#include "io/output/replace.h"
#include "io/output/template.h"

enum { PATH_SIZE = TEMPLATE_PATH_MAX + PLANE_NAME_SIZE + 1 };

/* Puts `.NAME` before the suffix of the image: a_0.raw becomes a_0.rot_x.raw. */
static void path_of(const struct plane *p, const char *image, char path[PATH_SIZE])
{
    const char *slash = strrchr(image, '/'), *base = slash ? slash + 1 : image;
    const char *dot = strrchr(base, '.');
    const char *suffix = dot && dot != base ? dot : base + strlen(base);
    (void)snprintf(path, PATH_SIZE, "%.*s.%s%s", (int)(suffix - image), image, p->name, suffix);
}

static enum status write_plane(const struct plane *p, const char *path, bool sync, bool guarded,
                               struct error *e)
{
    const struct image image = {.type = PIXEL_F32, .count = p->count, .pixels = p->values};
    struct replace file;
    enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    file.sync = sync;
    file.guarded = guarded;
    s = raw_write(file.stream, &image, path, e);
    if (!s)
        return replace_commit(&file, e);
    replace_abort(&file);
    return s;
}

enum status output_planes_write(const struct planes *planes, const char *path, bool sync,
                                bool guarded, struct error *e)
{
    struct stat st;
    enum status s = STATUS_OK;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return STATUS_OK;
    for (size_t i = 0; i < planes->count && !s; i++) {
        char name[PATH_SIZE];
        path_of(&planes->items[i], path, name);
        s = write_plane(&planes->items[i], name, sync, guarded, e);
    }
    return s;
}
