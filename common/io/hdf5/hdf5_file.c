#include "io/hdf5/hdf5_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* An open file, as the HDF5 library passes it to the callbacks below. */
struct opened {
    H5FD_t common;  // must be first
    struct hdf5_inplace *p;
};

static struct hdf5_inplace *inplace_of(const H5FD_t *file)
{
    return ((const struct opened *)file)->p;
}

/* --- callbacks of the library --------------------------------------------------- */

static H5FD_t *open_file(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    (void)name, (void)flags, (void)most;
    const void *info = H5Pget_driver_info(access);
    if (!info)
        return NULL;
    struct opened *opened = mem_array(1, sizeof *opened);
    opened->p = *(struct hdf5_inplace *const *)info;
    return &opened->common;
}

static herr_t close_file(H5FD_t *file)
{
    free(file);
    return 0;
}

/* The library need not collect small values before it writes them, except for groups and indexes:
 * so each chunk gets an address of its own. */
static herr_t query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE;
    return 0;
}

static haddr_t get_end(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return inplace_of(file)->end;
}

static herr_t set_end(H5FD_t *file, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    inplace_of(file)->end = end;
    return 0;
}

/* Returns the address of new bytes: 0 for the superblock, which comes first, the place of the next
 * chunk if the file has the chunk already, and the end of the file for everything else. */
static haddr_t allocate(H5FD_t *file, H5FD_mem_t type, hid_t transfer, hsize_t size)
{
    (void)transfer;
    struct hdf5_inplace *p = inplace_of(file);
    if (p->place && type == H5FD_MEM_DRAW) {
        p->placed = !p->placed && size == p->place_length;
        return p->placed ? p->place : HADDR_UNDEF;
    }
    if (!p->end) {
        p->end = size;
        return 0;
    }
    const haddr_t at = p->end < p->kept ? p->kept : p->end;
    p->end = at + size;
    return at;
}

/* The library also reads bytes that it has allocated, but not written yet. */
static herr_t read_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                         void *to)
{
    (void)type, (void)transfer;
    const ssize_t got = steady_read_at(inplace_of(file)->file, to, size, (off_t)at);
    if (got < 0)
        return -1;
    memset((char *)to + got, 0, size - (size_t)got);
    return 0;
}

static herr_t write_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                          const void *from)
{
    (void)type, (void)transfer;
    struct hdf5_inplace *p = inplace_of(file);
    if (p->placed && at == p->place && size == p->place_length) {
        p->place = 0;
        p->placed = false;
        return 0;
    }
    if (at < p->kept && at + size > HDF5_FRONT)
        return -1;  // would change the existing bytes
    for (size_t put = 0; put < size;) {
        const ssize_t n = pwrite(p->file, (const char *)from + put, size - put, (off_t)(at + put));
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return -1;
        put += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static herr_t truncate_file(H5FD_t *file, hid_t transfer, hbool_t closing)
{
    (void)transfer, (void)closing;
    const struct hdf5_inplace *p = inplace_of(file);
    return steady_truncate(p->file, (off_t)(p->end < p->kept ? p->kept : p->end)) == 0 ? 0 : -1;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)600,  // free for drivers of programs: 512 to 65535
#endif
    .name = "inplace",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(struct hdf5_inplace *),
    .open = open_file,
    .close = close_file,
    .query = query,
    .alloc = allocate,
    .get_eoa = get_end,
    .set_eoa = set_end,
    .get_eof = get_end,
    .read = read_bytes,
    .write = write_bytes,
    .truncate = truncate_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Makes the driver that of files which are created with the access property list.  Returns false if
 * the library refuses. */
static bool hdf5_inplace_use(hid_t access, struct hdf5_inplace *p)
{
    static hid_t id = H5I_INVALID_HID;
    if (id < 0)
        id = H5FDregister(&driver);
    return id >= 0 && H5Pset_driver(access, id, &p) >= 0;
}

/* --- files --------------------------------------------------------------- */

bool hdf5_good(struct hdf5_file *f, int64_t result)
{
    if (result < 0 && !f->failed) {
        f->failed = true;
        f->cause = errno;
    }
    return result >= 0;
}

/* Switches off the file locks of the HDF5 library.  In HDF5 1.10.6 and 1.12.0 only an
 * environment variable does this.  It must be set before other threads run. */
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
static void lock_no_file(hid_t list)
{
    (void)H5Pset_file_locking(list, false, true);
}
#else
__attribute__((constructor)) static void lock_no_file_ever(void)
{
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
}

static void lock_no_file(hid_t list)
{
    (void)list;
}
#endif

/* Also switches off parts of the library.  Its file locks: a file that is written already has a
 * lock of output_file.c.  Its plugins: chunks arrive compressed, and the plugins that happen to be
 * installed must not change the bytes of a file.  Its clean-up at exit: it crashes if a file
 * could not be closed. */
hid_t hdf5_access(void)
{
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void)H5PLset_loading_state(0);
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    lock_no_file(list);
    return list;
}

enum status hdf5_create(struct hdf5_file *f, const char *path, bool sync, struct error *e)
{
    *f = (struct hdf5_file){.id = -1, .path = mem_text("%s", path)};
    const enum status s = replace_open(&f->replace, path, e);
    if (s) {
        free(f->path);
        return s;
    }
    f->replace.sync = sync;
    const hid_t access = hdf5_access();
    do {  // opening or truncating fails in the library if a signal interrupts it
        errno = f->replace.temporary ? 0 : ESPIPE;
        f->id = f->replace.temporary
                    ? H5Fcreate(f->replace.temporary, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                    : -1;
    } while (f->id < 0 && errno == EINTR);
    (void)hdf5_good(f, f->id);
    (void)H5Pclose(access);
    return STATUS_OK;
}

enum status hdf5_complete(struct hdf5_file *f, const char *path, const char *existing, int file,
                          uint64_t kept, bool sync, struct error *e)
{
    *f = (struct hdf5_file){
        .id = -1, .path = mem_text("%s", path), .inplace = {.file = file, .kept = kept}};
    const enum status s = replace_adopt(&f->replace, path, existing, file, e);
    if (s) {
        free(f->path);
        return s;
    }
    f->replace.sync = sync;
    const hid_t access = hdf5_access();
    errno = 0;
    if (hdf5_good(f, hdf5_inplace_use(access, &f->inplace) ? 0 : -1))
        f->id = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    (void)hdf5_good(f, f->id);
    (void)H5Pclose(access);
    return STATUS_OK;
}

void hdf5_create_in_memory(struct hdf5_file *f)
{
    enum { STEP = 1 << 20 };  // bytes by which the memory grows
    *f = (struct hdf5_file){.id = -1};
    const hid_t access = hdf5_access();
    errno = 0;
    if (hdf5_good(f, H5Pset_fapl_core(access, STEP, false)))
        f->id = H5Fcreate("memory", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    (void)hdf5_good(f, f->id);
    (void)H5Pclose(access);
}

enum status hdf5_take_bytes(struct hdf5_file *f, void **bytes, size_t *size, struct error *e)
{
    *bytes = NULL;
    *size = 0;
    const ssize_t length = !f->failed && hdf5_good(f, H5Fflush(f->id, H5F_SCOPE_LOCAL))
                               ? H5Fget_file_image(f->id, NULL, 0)
                               : -1;
    if (hdf5_good(f, length)) {
        *bytes = mem_room((size_t)length);
        *size = (size_t)length;
        (void)hdf5_good(f, H5Fget_file_image(f->id, *bytes, *size));
    }
    const bool failed = f->failed;
    hdf5_abort(f);
    if (!failed)
        return STATUS_OK;
    mem_free(*bytes);
    *bytes = NULL;
    return error_set(e, STATUS_FAILED, "HDF5 cannot make a file in memory");
}

/* Removes what was added to a file that was to be completed in place. */
static void restore(const struct hdf5_file *f)
{
    if (f->inplace.kept)
        (void)!steady_truncate(f->inplace.file, (off_t)f->inplace.kept);
}

static void close_it(struct hdf5_file *f)
{
    do
        errno = 0;
    while (f->id >= 0 && H5Fflush(f->id, H5F_SCOPE_LOCAL) < 0 && errno == EINTR);
    errno = 0;
    if (f->id >= 0)
        (void)hdf5_good(f, H5Fclose(f->id));
    f->id = -1;
}

void hdf5_settle(struct hdf5_file *f)
{
    struct error later;  // not used: hdf5_commit gets the same error again
    close_it(f);
    if (!f->failed)
        (void)replace_flush(&f->replace, &later);
}

enum status hdf5_commit(struct hdf5_file *f, struct error *e)
{
    close_it(f);
    enum status s = STATUS_FAILED;
    if (!f->failed) {
        s = replace_commit(&f->replace, e);
    } else {
        errno = f->cause ? f->cause : EIO;
        (void)error_errno(e, STATUS_FAILED, "%s: cannot write", f->path);
        restore(f);
        replace_abort(&f->replace);
    }
    free(f->path);
    *f = (struct hdf5_file){.id = -1};
    return s;
}

void hdf5_abort(struct hdf5_file *f)
{
    if (f->id >= 0)
        (void)H5Fclose(f->id);
    restore(f);
    if (f->path)
        replace_abort(&f->replace);
    free(f->path);
    *f = (struct hdf5_file){.id = -1};
}

/* --- groups, data sets and attributes ------------------------------------ */

void hdf5_group(struct hdf5_file *f, const char *path, const char *nx_class)
{
    const hid_t made = H5Pcreate(H5P_GROUP_CREATE);
    (void)H5Pset_obj_track_times(made, false);
    const hid_t group = H5Gcreate2(f->id, path, H5P_DEFAULT, made, H5P_DEFAULT);
    if (hdf5_good(f, group))
        (void)hdf5_good(f, H5Gclose(group));
    (void)H5Pclose(made);
    hdf5_note_text(f, path, "NX_class", nx_class);
}

void hdf5_groups_above(struct hdf5_file *f, const char *path)
{
    char *name = mem_text("%s", path);
    const hid_t made = H5Pcreate(H5P_GROUP_CREATE);
    (void)H5Pset_obj_track_times(made, false);
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (H5Lexists(f->id, name, H5P_DEFAULT) == 0) {
            const hid_t group = H5Gcreate2(f->id, name, H5P_DEFAULT, made, H5P_DEFAULT);
            if (hdf5_good(f, group))
                (void)hdf5_good(f, H5Gclose(group));
        }
        *slash = '/';
    }
    (void)H5Pclose(made);
    free(name);
}

void hdf5_link(struct hdf5_file *f, const char *path, const char *to)
{
    (void)hdf5_good(f, H5Lcreate_soft(to, f->id, path, H5P_DEFAULT, H5P_DEFAULT));
}

hid_t hdf5_creation(struct hdf5_file *f)
{
    const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
    (void)hdf5_good(f, H5Pset_obj_track_times(made, false));
    return made;
}

static hid_t make_space(int rank, const hsize_t *dims)
{
    return rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
}

hid_t hdf5_data(struct hdf5_file *f, const char *path, hid_t type, int rank, const hsize_t *dims,
                hid_t made, const void *values)
{
    const hid_t space = make_space(rank, dims);
    const hid_t own = made == H5P_DEFAULT ? hdf5_creation(f) : made;
    const hid_t data = H5Dcreate2(f->id, path, type, space, H5P_DEFAULT, own, H5P_DEFAULT);
    if (hdf5_good(f, data) && values)
        (void)hdf5_good(f, H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    if (made == H5P_DEFAULT)
        (void)H5Pclose(own);
    (void)H5Sclose(space);
    return data;
}

static void put_data(struct hdf5_file *f, const char *path, hid_t type, int rank,
                     const hsize_t *dims, const void *values)
{
    const hid_t data = hdf5_data(f, path, type, rank, dims, H5P_DEFAULT, values);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
}

static const hsize_t ONLY_CHUNK[2] = {0, 0};

/* Keeps the only chunk of a data set, unless the library stored it without compression. */
static void keep_chunk(hid_t data, struct hdf5_once *once)
{
    hsize_t size = 0;
    uint32_t skipped = 1;
    if (H5Dget_chunk_storage_size(data, ONLY_CHUNK, &size) < 0 || !size)
        return;
    once->bytes = mem_array((size_t)size, 1);
    once->size = (size_t)size;
    if (H5Dread_chunk(data, H5P_DEFAULT, ONLY_CHUNK, &skipped, once->bytes) >= 0 && !skipped)
        return;
    mem_free(once->bytes);
    once->bytes = NULL;
}

void hdf5_packed(struct hdf5_file *f, const char *path, hid_t type, const hsize_t dims[2],
                 const void *values, struct hdf5_once *once)
{
    const hid_t packed = hdf5_creation(f);
    (void)hdf5_good(f, H5Pset_chunk(packed, 2, dims));
    (void)hdf5_good(f, H5Pset_deflate(packed, 1));
    const hid_t data = hdf5_data(f, path, type, 2, dims, packed, once->bytes ? NULL : values);
    if (data >= 0 && once->bytes)
        (void)hdf5_good(f,
                        H5Dwrite_chunk(data, H5P_DEFAULT, 0, ONLY_CHUNK, once->size, once->bytes));
    else if (data >= 0)
        keep_chunk(data, once);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    (void)H5Pclose(packed);
}

/* Returns the HDF5 type of a text of fixed length in UTF-8, without a terminating zero byte.
 * The caller closes it. */
static hid_t text_type(const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, *text ? strlen(text) : 1);
    (void)H5Tset_strpad(type, H5T_STR_NULLPAD);
    (void)H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

void hdf5_text(struct hdf5_file *f, const char *path, const char *text)
{
    const hid_t type = text_type(text);
    put_data(f, path, type, 0, NULL, text);
    (void)H5Tclose(type);
}

void hdf5_whole(struct hdf5_file *f, const char *path, uint64_t value)
{
    put_data(f, path, H5T_NATIVE_UINT64, 0, NULL, &value);
}

void hdf5_flag(struct hdf5_file *f, const char *path, bool value)
{
    put_data(f, path, H5T_NATIVE_INT8, 0, NULL, &(int8_t){value});
}

void hdf5_reals(struct hdf5_file *f, const char *path, int rank, const hsize_t *dims,
                const double *values)
{
    put_data(f, path, H5T_NATIVE_DOUBLE, rank, dims, values);
}

void hdf5_real(struct hdf5_file *f, const char *path, double value, const char *units)
{
    put_data(f, path, H5T_NATIVE_DOUBLE, 0, NULL, &value);
    if (units)
        hdf5_note_text(f, path, "units", units);
}

static void put_attribute(struct hdf5_file *f, const char *path, const char *name, hid_t type,
                          int rank, const hsize_t *dims, const void *values)
{
    const hid_t space = make_space(rank, dims);
    const hid_t attribute =
        H5Acreate_by_name(f->id, path, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (hdf5_good(f, attribute)) {
        (void)hdf5_good(f, H5Awrite(attribute, type, values));
        (void)hdf5_good(f, H5Aclose(attribute));
    }
    (void)H5Sclose(space);
}

void hdf5_note_text(struct hdf5_file *f, const char *path, const char *name, const char *text)
{
    const hid_t type = text_type(text);
    put_attribute(f, path, name, type, 0, NULL, text);
    (void)H5Tclose(type);
}

void hdf5_note_string(struct hdf5_file *f, const char *path, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, H5T_VARIABLE);
    (void)H5Tset_cset(type, H5T_CSET_UTF8);
    put_attribute(f, path, name, type, 0, NULL, &text);
    (void)H5Tclose(type);
}

void hdf5_note_reals(struct hdf5_file *f, const char *path, const char *name, hsize_t count,
                     const double *values)
{
    put_attribute(f, path, name, H5T_NATIVE_DOUBLE, 1, &count, values);
}
