/* The masks of NXmx files, and the shape of their images compared with that of the modules. */
#include "io/nxmx/nxmx_geometry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/nxmx/nexus.h"
#include "io/nxmx/nxmx_layout.h"
#include "model/experiment.h"

/* --- mask ------------------------------------------------------------------ */

/* Numbers of HDF5 filters that detectors use, but that the library does not have. */
enum { FILTER_LZ4 = 32004, FILTER_BSLZ4 = 32008 };
static const hsize_t PIXELS_MAX = 1 << 28;

/* An open data set of integers, with its data space and its type. */
struct array {
    hid_t data, space, type;
};

static void close_array(struct array *a)
{
    if (a->type >= 0)
        (void)H5Tclose(a->type);
    if (a->space >= 0)
        (void)H5Sclose(a->space);
    if (a->data >= 0)
        (void)H5Dclose(a->data);
}

static bool open_array(const struct nexus *n, const char *path, struct array *a)
{
    *a = (struct array){.data = hdf5_open_data(n->file, path), .space = -1, .type = -1};
    if (a->data < 0)
        return false;
    a->space = H5Dget_space(a->data);
    a->type = H5Dget_type(a->data);
    const H5T_class_t class = H5Tget_class(a->type);  // h5py stores booleans as an enumeration
    return a->space >= 0 && (class == H5T_INTEGER || class == H5T_ENUM);
}

/* Returns true if the slab has as many dimensions as the array and is inside it. */
static bool fits(const struct array *a, const struct nxmx_slab *slab)
{
    hsize_t dims[H5S_MAX_RANK];
    if (H5Sget_simple_extent_ndims(a->space) != (int)slab->rank ||
        H5Sget_simple_extent_dims(a->space, dims, NULL) < 0)
        return false;
    for (size_t i = 0; i < slab->rank; i++)
        if ((hsize_t)(slab->origin[i] + slab->size[i]) > dims[i])
            return false;
    return true;
}

/* Returns true if the library has all filters of the array and can therefore unpack it. */
static bool unpacks(const struct array *a)
{
    const hid_t made = H5Dget_create_plist(a->data);
    const int filters = H5Pget_nfilters(made);
    bool good = filters >= 0;
    for (int i = 0; i < filters && good; i++) {
        size_t values = 0;
        unsigned flags;
        const H5Z_filter_t filter =
            H5Pget_filter2(made, (unsigned)i, &flags, &values, NULL, 0, NULL, NULL);
        good = H5Zfilter_avail(filter) > 0;
    }
    (void)H5Pclose(made);
    return good;
}

static bool read_slab(const struct array *a, const struct nxmx_slab *slab, uint32_t *values)
{
    hsize_t first[NXMX_RANK], size[NXMX_RANK];
    for (size_t i = 0; i < slab->rank; i++) {
        first[i] = (hsize_t)slab->origin[i];
        size[i] = (hsize_t)slab->size[i];
    }
    const hid_t memory = H5Screate_simple((int)slab->rank, size, NULL);
    // Signed numbers stay signed, because HDF5 converts negative numbers to unsigned 0.
    const hid_t as = H5Tget_class(a->type) != H5T_ENUM && H5Tget_sign(a->type) == H5T_SGN_2
                         ? H5T_NATIVE_INT32
                         : H5T_NATIVE_UINT32;
    const bool good = H5Sselect_hyperslab(a->space, H5S_SELECT_SET, first, NULL, size, NULL) >= 0 &&
                      H5Dread(a->data, as, memory, a->space, H5P_DEFAULT, values) >= 0;
    (void)H5Sclose(memory);
    return good;
}

/* Returns true if this module can unpack the array itself: it is a single chunk of 4-byte
 * integers, little-endian, with LZ4 or bslz4 as the only filter.  dims[] gets the sizes of the
 * array, and *how the compression. */
static bool is_packed(const struct array *a, const struct nxmx_slab *slab,
                      hsize_t dims[H5S_MAX_RANK], enum nxmx_compression *how)
{
    const hid_t made = H5Dget_create_plist(a->data);
    hsize_t chunk[H5S_MAX_RANK], pixels = 1;
    size_t values = 0;
    unsigned flags;
    const int rank = (int)slab->rank;
    const H5Z_filter_t filter = H5Pget_nfilters(made) == 1
                                    ? H5Pget_filter2(made, 0, &flags, &values, NULL, 0, NULL, NULL)
                                    : 0;
    bool good = (filter == FILTER_LZ4 || filter == FILTER_BSLZ4) && H5Tget_size(a->type) == 4 &&
                H5Tget_class(a->type) == H5T_INTEGER && H5Tget_order(a->type) == H5T_ORDER_LE &&
                H5Sget_simple_extent_dims(a->space, dims, NULL) == rank &&
                H5Pget_chunk(made, H5S_MAX_RANK, chunk) == rank;
    for (int i = 0; i < rank && good; i++) {
        good = chunk[i] == dims[i] && dims[i] <= PIXELS_MAX;
        pixels *= good ? dims[i] : 1;
        good = good && pixels <= PIXELS_MAX;
    }
    *how = filter == FILTER_LZ4 ? NXMX_LZ4 : NXMX_BSLZ4;
    (void)H5Pclose(made);
    return good;
}

/* Copies a slab of an array with the sizes dims[] to `to`.  The slab must be inside the array. */
static void copy_slab(const uint32_t *from, const hsize_t *dims, const struct nxmx_slab *slab,
                      uint32_t *to)
{
    const size_t last = slab->rank - 1, width = (size_t)slab->size[last];
    const int64_t fast = (int64_t)dims[last], slow = (int64_t)dims[last - 1];
    const int64_t first = slab->rank == 3 ? slab->origin[0] * slow : 0;
    for (int64_t i = 0; i < slab->size[last - 1]; i++)
        memcpy(to + (size_t)i * width,
               from + (first + slab->origin[last - 1] + i) * fast + slab->origin[last],
               width * sizeof *to);
}

static bool read_packed(const struct array *a, const struct nxmx_slab *slab, const hsize_t *dims,
                        enum nxmx_compression how, uint32_t *values)
{
    struct nxmx_chunk chunk = {0};
    struct image all = {0};
    size_t pixels = 1;
    for (size_t i = 0; i < slab->rank; i++)
        pixels *= (size_t)dims[i];
    const bool good = nxmx_get_chunk(a->data, 0, &chunk) &&
                      image_reserve(&all, PIXEL_U32, UNIT_ADU, pixels) &&
                      nxmx_unpack(how, &chunk, &all, NULL) == STATUS_OK;
    if (good)
        copy_slab(all.pixels, dims, slab, values);
    image_free(&all);
    nxmx_chunk_free(&chunk);
    return good;
}

static bool read_values(const struct array *a, const struct nxmx_slab *slab, uint32_t *values)
{
    hsize_t dims[H5S_MAX_RANK];
    enum nxmx_compression how;
    return is_packed(a, slab, dims, &how) ? read_packed(a, slab, dims, how, values)
                                          : read_slab(a, slab, values);
}

/* Returns the reasons of a mask word of NXmx; the inverse of experiment_mask_word.  Also handles
 * words of third-party programs: under-responding pixels (bit 2) count as dead, over-responding
 * pixels (bit 3) as noisy.  Other bits are ignored. */
static uint8_t reasons_of(uint32_t word)
{
    return (uint8_t)((word & (1u << 1 | 1u << 2) ? REASON_DEAD : 0) |
                     (word & (1u << 3 | 1u << 4) ? REASON_NOISY : 0) |
                     (word & 1u << 8 ? REASON_SHADOW : 0));
}

/* Sets the mask and the reasons of a panel, which has neither yet, from the words of the file.
 * A pixel is masked if its word is not 0.  The mask is NULL if no pixel is masked, and the
 * reasons are NULL if no word has a known reason. */
static enum status take_words(const uint32_t *words, size_t count, struct geom_panel *p,
                              struct error *e)
{
    size_t masked = 0, known = 0;
    p->mask = mem_try_array(count, 1);
    p->reasons = mem_try_array(count, 1);
    for (size_t i = 0; i < count && p->mask && p->reasons; i++) {
        p->mask[i] = words[i] == 0;
        p->reasons[i] = reasons_of(words[i]);
        masked += !p->mask[i];
        known += p->reasons[i] != 0;
    }
    const bool good = p->mask && p->reasons;
    if (!masked) {
        mem_free(p->mask);
        p->mask = NULL;
    }
    if (!known) {
        mem_free(p->reasons);
        p->reasons = NULL;
    }
    return good ? STATUS_OK : error_memory(e, "the mask");
}

static enum status take_mask(const struct nexus *n, const char *path, const struct array *a,
                             const struct nxmx_slab *slab, struct geom_panel *p, struct error *e)
{
    size_t count = 1;
    for (size_t i = 0; i < slab->rank; i++)
        count *= (size_t)slab->size[i];
    uint32_t *words = mem_try_array(count, sizeof *words);
    enum status s = words ? STATUS_OK : error_memory(e, "the mask");
    if (!s && !read_values(a, slab, words))
        s = nexus_error(n, path, e, "cannot be read");
    s = s ? s : take_words(words, count, p, e);
    mem_free(words);
    return s;
}

enum status nxmx_mask_read(const struct nexus *n, const char *path, const struct nxmx_slab *slab,
                           struct geom_panel *p, bool *unread, struct error *e)
{
    struct array a;
    hsize_t dims[H5S_MAX_RANK];
    enum nxmx_compression how;
    enum status s = STATUS_OK;
    if (!open_array(n, path, &a) || !fits(&a, slab))
        s = nexus_error(
            n, path, e,
            "has another shape or type; expected an integer for each pixel of all modules");
    else if (!unpacks(&a) && !is_packed(&a, slab, dims, &how))
        *unread = true;
    else
        s = take_mask(n, path, &a, slab, p, e);
    close_array(&a);
    return s;
}

/* --- size ------------------------------------------------------------------ */

/* Result of the comparison of the modules with arrays.  ANSWER_NONE: there is no array.  The
 * other results, best first: an array has the same size, the same size with swapped axes, or
 * another size. */
enum answer { ANSWER_NONE, ANSWER_SAME, ANSWER_SWAPPED, ANSWER_OTHER };

/* An array whose size is not that of the modules.  The error message names it. */
struct odd_array {
    char path[NEXUS_PATH];
    int64_t slow, fast;
};

/* Sets size[] to the last `rank` dimensions of a data set of numbers.  Returns false if the data
 * set has fewer dimensions, or if there is no such data set. */
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

static enum answer compare_shape(const struct nxmx_shape *s, const int64_t size[NXMX_RANK])
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

/* Compares the shape with a data set, and sets *best if the answer is better than the previous
 * ones.
 */
static void ask_data(const struct nexus *n, const char *path, const struct nxmx_shape *s,
                     enum answer *best, struct odd_array *other)
{
    int64_t size[NXMX_RANK];
    if (!size_of(n, path, s->rank, size))
        return;
    const enum answer answer = compare_shape(s, size);
    if (answer == ANSWER_OTHER && *best == ANSWER_NONE) {
        (void)snprintf(other->path, sizeof other->path, "%s", path);
        other->slow = size[s->rank - 2];
        other->fast = size[s->rank - 1];
    }
    if (*best == ANSWER_NONE || answer < *best)
        *best = answer;
}

/* Compares the shape with the images of an NXdata group or of a detector: data, data_000001, and so
 * on. */
static void ask_group(const struct nexus *n, const char *group, const struct nxmx_shape *s,
                      enum answer *best, struct odd_array *other)
{
    char child[NEXUS_PATH];
    hsize_t at = 0;
    while (nexus_child(n, group, NULL, &at, child)) {
        const char *name = strrchr(child, '/') + 1;
        if (strcmp(name, "data") == 0 || strncmp(name, "data_", 5) == 0)
            ask_data(n, child, s, best, other);
    }
}

/* Compares the shape with the size of the detector that DECTRIS' files store. */
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
    return compare_shape(s, size);
}

/* Compares the shape with the size of the detector only, because there are no images and no
 * mask. */
static enum status ask_alone(const struct nexus *n, const char *detector, struct nxmx_shape *s,
                             struct error *e)
{
    const enum answer answer = ask_detector(n, detector, s);
    s->swapped = answer == ANSWER_SWAPPED;
    return answer == ANSWER_OTHER
               ? nexus_error(n, detector, e,
                             "the modules span %" PRId64 " x %" PRId64
                             " pixels (slow x fast), but detectorSpecific/y_pixels_in_detector and "
                             "x_pixels_in_detector are different",
                             s->size[s->rank - 2], s->size[s->rank - 1])
               : STATUS_OK;
}

static enum status differ(const struct nexus *n, const struct odd_array *other,
                          const struct nxmx_shape *s, struct error *e)
{
    return nexus_error(n, other->path, e,
                       "has %" PRId64 " x %" PRId64
                       " pixels (slow x fast), but the modules span %" PRId64 " x %" PRId64,
                       other->slow, other->fast, s->size[s->rank - 2], s->size[s->rank - 1]);
}

enum status nxmx_shape_compare(const struct nexus *n, const char *entry, const char *detector,
                               struct nxmx_shape *shape, struct error *e)
{
    char path[NEXUS_PATH];
    struct odd_array image, mask;
    enum answer images = ANSWER_NONE, masks = ANSWER_NONE;
    hsize_t at = 0;
    ask_group(n, detector, shape, &images, &image);
    while (images == ANSWER_NONE && nexus_child(n, entry, "NXdata", &at, path))
        ask_group(n, path, shape, &images, &image);
    if (nexus_has(n, detector, "pixel_mask", path))
        ask_data(n, path, shape, &masks, &mask);
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
    return nexus_error(n, path, e, "has slow and fast swapped in comparison with the images");
}
