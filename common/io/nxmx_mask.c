#include "io/nxmx_mask.h"

#include "base/alloc.h"

/* An open array. */
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
    *a = (struct array){.data = H5Dopen2(n->file, path, H5P_DEFAULT), .space = -1, .type = -1};
    if (a->data < 0)
        return false;
    a->space = H5Dget_space(a->data);
    a->type = H5Dget_type(a->data);
    return a->space >= 0 && a->type >= 0 && H5Tget_class(a->type) == H5T_INTEGER;
}

/* Whether the slab lies within the array. */
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

/* Whether the library can unpack it by itself. */
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
    const bool good =
        H5Sselect_hyperslab(a->space, H5S_SELECT_SET, first, NULL, size, NULL) >= 0 &&
        H5Dread(a->data, H5T_NATIVE_UINT32, memory, a->space, H5P_DEFAULT, values) >= 0;
    (void)H5Sclose(memory);
    return good;
}

/* From values to *mask. */
static enum status take(const struct nexus *n, const char *path, const struct array *a,
                        const struct nxmx_slab *slab, uint8_t **mask, struct error *e)
{
    size_t count = 1, masked = 0;
    for (size_t i = 0; i < slab->rank; i++)
        count *= (size_t)slab->size[i];
    uint32_t *values = mem_array(count, sizeof *values);
    uint8_t *bytes = mem_array(count, 1);
    enum status s = values && bytes ? STATUS_OK : error_memory(e, "the mask");
    if (!s && !read_slab(a, slab, values))
        s = nexus_error(n, path, e, "cannot be read");
    for (size_t i = 0; i < count && !s; i++) {
        bytes[i] = values[i] == 0;
        masked += !bytes[i];
    }
    mem_free(values);
    if (!s && masked)
        *mask = bytes;
    else
        mem_free(bytes);
    return s;
}

enum status nxmx_mask_read(const struct nexus *n, const char *path, const struct nxmx_slab *slab,
                           uint8_t **mask, bool *unread, struct error *e)
{
    struct array a;
    enum status s = STATUS_OK;
    *mask = NULL;
    if (!open_array(n, path, &a) || !fits(&a, slab))
        s = nexus_error(n, path, e, "must hold whole numbers, one for each pixel of all modules");
    else if (!unpacks(&a))
        *unread = true;
    else
        s = take(n, path, &a, slab, mask, e);
    close_array(&a);
    return s;
}
