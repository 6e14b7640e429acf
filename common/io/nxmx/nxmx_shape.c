#include "io/nxmx/nxmx_shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What an array says of the modules' size. */
enum answer { ANSWER_NONE, ANSWER_SAME, ANSWER_SWAPPED, ANSWER_OTHER };

/* An array of another size, for the error. */
struct other {
    char path[NEXUS_PATH];
    int64_t slow, fast;
};

/* The last dimensions of a data set of numbers, as many as modules have; false where it has
 * less. */
static bool size_of(const struct nexus *n, const char *path, size_t rank, int64_t size[NXMX_RANK])
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    const hid_t data = hdf5_open_data(n->file, path);
    if (data < 0)
        return false;
    const hid_t space = H5Dget_space(data), type = H5Dget_type(data);
    const H5T_class_t class = H5Tget_class(type);
    const int found = H5Sget_simple_extent_ndims(space);
    const bool good = (class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM) &&
                      found >= (int)rank && H5Sget_simple_extent_dims(space, dims, NULL) == found;
    for (size_t i = 0; i < rank && good; i++)
        size[i] = (int64_t)dims[(size_t)found - rank + i];
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Dclose(data);
    return good;
}

static enum answer compare(const struct nxmx_shape *s, const int64_t size[NXMX_RANK])
{
    const size_t fast = s->rank - 1, slow = fast - 1;
    for (size_t i = 0; i < slow; i++)
        if (size[i] != s->size[i])
            return ANSWER_OTHER;
    if (size[slow] == s->size[slow] && size[fast] == s->size[fast])
        return ANSWER_SAME;
    return s->may_swap && size[slow] == s->size[fast] && size[fast] == s->size[slow]
               ? ANSWER_SWAPPED
               : ANSWER_OTHER;
}

/* *best becomes what the data set says, unless something better was said. */
static void ask(const struct nexus *n, const char *path, const struct nxmx_shape *s,
                enum answer *best, struct other *other)
{
    int64_t size[NXMX_RANK];
    if (!size_of(n, path, s->rank, size))
        return;
    const enum answer answer = compare(s, size);
    if (answer == ANSWER_OTHER && *best == ANSWER_NONE) {
        (void)snprintf(other->path, sizeof other->path, "%s", path);
        other->slow = size[s->rank - 2];
        other->fast = size[s->rank - 1];
    }
    if (*best == ANSWER_NONE || answer < *best)
        *best = answer;
}

/* Of the images of an NXdata group, or of a detector: data, data_000001, and so on. */
static void ask_group(const struct nexus *n, const char *group, const struct nxmx_shape *s,
                      enum answer *best, struct other *other)
{
    char child[NEXUS_PATH];
    hsize_t at = 0;
    while (nexus_child(n, group, NULL, &at, child)) {
        const char *name = strrchr(child, '/') + 1;
        if (strcmp(name, "data") == 0 || strncmp(name, "data_", 5) == 0)
            ask(n, child, s, best, other);
    }
}

/* Of the detector itself, as DECTRIS' files say. */
static enum answer ask_detector(const struct nexus *n, const char *detector,
                                const struct nxmx_shape *s)
{
    static const char *const names[] = {"detectorSpecific/y_pixels_in_detector",
                                        "detectorSpecific/x_pixels_in_detector"};
    char path[NEXUS_PATH];
    int64_t size[NXMX_RANK] = {0};
    size_t count;
    struct error ignored;
    for (size_t i = 0; i < 2; i++)
        if (s->rank != 2 || !nexus_has(n, detector, names[i], path) ||
            nexus_wholes(n, path, 1, &size[i], &count, &ignored))
            return ANSWER_NONE;
    return compare(s, size);
}

/* Without images and mask there is nothing but the detector's own word to compare with. */
static enum status ask_alone(const struct nexus *n, const char *detector, struct nxmx_shape *s,
                             struct error *e)
{
    const enum answer answer = ask_detector(n, detector, s);
    s->swapped = answer == ANSWER_SWAPPED;
    return answer == ANSWER_OTHER
               ? nexus_error(n, detector, e,
                             "the modules reach over %" PRId64 " x %" PRId64
                             " pixels (slow x fast); detectorSpecific/y_pixels_in_detector and "
                             "x_pixels_in_detector say other numbers",
                             s->size[s->rank - 2], s->size[s->rank - 1])
               : STATUS_OK;
}

static enum status differ(const struct nexus *n, const struct other *other,
                          const struct nxmx_shape *s, struct error *e)
{
    return nexus_error(n, other->path, e,
                       "%" PRId64 " x %" PRId64 " pixels (slow x fast), the modules reach over "
                       "%" PRId64 " x %" PRId64,
                       other->slow, other->fast, s->size[s->rank - 2], s->size[s->rank - 1]);
}

enum status nxmx_shape_compare(const struct nexus *n, const char *entry, const char *detector,
                               struct nxmx_shape *shape, struct error *e)
{
    char path[NEXUS_PATH];
    struct other image, mask;
    enum answer images = ANSWER_NONE, masks = ANSWER_NONE;
    hsize_t at = 0;
    ask_group(n, detector, shape, &images, &image);
    while (images == ANSWER_NONE && nexus_child(n, entry, "NXdata", &at, path))
        ask_group(n, path, shape, &images, &image);
    if (nexus_has(n, detector, "pixel_mask", path))
        ask(n, path, shape, &masks, &mask);
    const enum answer counts = images != ANSWER_NONE ? images : masks;
    if (counts == ANSWER_NONE)
        return ask_alone(n, detector, shape, e);
    shape->swapped = counts == ANSWER_SWAPPED;
    if (images == ANSWER_OTHER)
        return differ(n, &image, shape, e);
    if (masks == ANSWER_NONE || masks == (shape->swapped ? ANSWER_SWAPPED : ANSWER_SAME))
        return STATUS_OK;
    if (masks == ANSWER_OTHER)
        return differ(n, &mask, shape, e);
    return nexus_error(n, path, e, "has slow and fast the other way round than the images");
}
