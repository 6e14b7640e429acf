/*
 * Reads HDF5 files of any program (hdf5_file.h): opens them in a trial process, finds data sets
 * behind links, and reads numbers and texts.
 */
#include "io/hdf5/hdf5_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/hdf5/sandbox.h"

enum { COMPONENTS_MAX = 100 };
/* A chunk may be larger than its data set, because the data set may grow.  A chunk of more than
 * CHUNK_BYTES must not be larger than twice the data set. */
static const uint64_t CHUNK_BYTES = (uint64_t)64 << 20;
/* Limits of a table: TABLE_BYTES, or TABLE_RATIO times the bytes of the file if that is more. */
static const uint64_t TABLE_BYTES = (uint64_t)64 << 20, TABLE_RATIO = 4;

/* --- other files ----------------------------------------------------------------------- */

/* In the trial process: the first error about a file that must not be opened.  It is an error even
 * if the data could be read without that file. */
static struct error refused;

static void refuse_file(const char *file, const char *what)
{
    if (!refused.status)
        (void)error_set(&refused, STATUS_INPUT, "%.200s: %s", file, what);
}

enum place { PLACE_MISSING, PLACE_FILE, PLACE_OTHER };

static enum place look_at(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return PLACE_MISSING;
    return S_ISREG(st.st_mode) ? PLACE_FILE : PLACE_OTHER;
}

static size_t folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Searches for the file that the library opens for a name that the file `from` stores.  Tries
 * the name itself and the folders that the library searches, in the same order.  `path` gets the
 * path of the first match.  PLACE_MISSING: there is none, and `path` is where the file should
 * be. */
static enum place find_part(const char *from, const char *name, char path[PATH_MAX])
{
    const char *const last = name + folder_of(name);
    char real[PATH_MAX], *end = realpath(from, real);
    const struct {
        const char *folder;
        size_t length;
        const char *name;
    } places[] = {
        {"", 0, name},
        {from, folder_of(from), *name == '/' ? last : name},
        {end ? real : "", end ? folder_of(real) : 0, *name == '/' ? last : name},
        {"", 0, last},
    };
    /* A relative name is first searched in the folder of `from`. */
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        const size_t i = *name == '/' || k > 1 ? k : 1 - k;
        if (snprintf(path, PATH_MAX, "%.*s%s", (int)places[i].length, places[i].folder,
                     places[i].name) >= PATH_MAX)
            continue;
        const enum place found = look_at(path);
        if (found != PLACE_MISSING)
            return found;
    }
    (void)snprintf(path, PATH_MAX, "%.*s%s", *name == '/' ? 0 : (int)folder_of(from), from, name);
    return PLACE_MISSING;
}

void hdf5_find_file(const char *from, const char *name, char path[PATH_MAX])
{
    (void)find_part(from, name, path);
}

/* Callback of the library before it follows an external link.  Refuses links to anything but
 * regular files, and opens files only for reading. */
static herr_t on_external(const char *from, const char *group, const char *name, const char *object,
                          unsigned *flags, hid_t access, void *unused)
{
    char path[PATH_MAX];
    (void)group, (void)object, (void)access, (void)unused;
    *flags = H5F_ACC_RDONLY;
    if (find_part(from, name, path) != PLACE_OTHER)
        return 0;
    refuse_file(path, "not an ordinary file, but a link leads to it");
    return -1;
}

/* Returns a property list of the given class with which the library follows external links only
 * to regular files. */
static hid_t careful(hid_t class)
{
    const hid_t list = H5Pcreate(class), access = hdf5_access();
    (void)H5Pset_elink_cb(list, on_external, NULL);
    (void)H5Pset_elink_fapl(list, access);
    (void)H5Pclose(access);
    return list;
}

hid_t hdf5_links(void)
{
    static hid_t list = -1;
    if (list < 0)
        list = careful(H5P_LINK_ACCESS);
    return list;
}

/* --- opening a file --------------------------------------------------------------------- */

/* A version of a file that a reader has read in the trial process without an error. */
struct accepted_file {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
    hdf5_reader *reader;
};

static struct accepted_file *tried;
static size_t ntried, tried_room;

static bool was_tried(const struct stat *st, hdf5_reader *reader)
{
    for (size_t i = ntried; i-- > 0;) {
        const struct accepted_file *t = &tried[i];
        if (t->inode == st->st_ino && t->device == st->st_dev && t->size == st->st_size &&
            t->changed.tv_sec == st->st_mtim.tv_sec && t->changed.tv_nsec == st->st_mtim.tv_nsec &&
            t->reader == reader)
            return true;
    }
    return false;
}

/* Notes that a reader has read this version of a file in the trial process. */
static void note_trial(const struct stat *st, hdf5_reader *reader)
{
    tried = mem_grow(tried, ntried, 1, sizeof *tried, &tried_room);
    tried[ntried++] =
        (struct accepted_file){st->st_dev, st->st_ino, st->st_size, st->st_mtim, reader};
}

/* Flags in the superblock of a file.  They are not 0 if a process is writing the file, or has
 * ended without closing it.  WRITER_SWMR: the writer allows readers at the same time. */
enum writer { WRITER_NONE, WRITER_SWMR = 5 };

static unsigned writer_of(const char *path)
{
    unsigned char head[12];
    FILE *in = fopen(path, "rbe");
    const bool good = in && fread(head, sizeof head, 1, in) == 1;
    if (in)
        (void)fclose(in);
    return good && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0 && head[8] == 3 ? head[11] : 0;
}

static enum status open_now(struct hdf5_file *f, const char *path, struct error *e)
{
    const hid_t access = hdf5_access();
    f->id = H5Fopen(path, H5F_ACC_RDONLY, access);
    const unsigned writer = f->id < 0 ? writer_of(path) : WRITER_NONE;
    if (writer == WRITER_SWMR)
        f->id = H5Fopen(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access);
    (void)H5Pclose(access);
    if (f->id >= 0)
        return STATUS_OK;
    return writer ? error_set(e, STATUS_INPUT,
                              "%s: still being written, or not closed. Wait for the program that "
                              "writes it, or run h5clear --status",
                              path)
                  : error_set(e, STATUS_INPUT, "%s: cannot be read as HDF5: truncated or corrupt",
                              path);
}

/* Arguments of `attempt`, which runs in the trial process. */
struct attempt {
    const char *path;
    hdf5_reader *reader;
};

static enum status attempt(void *what, struct error *e)
{
    const struct attempt *a = what;
    struct hdf5_file f = {.id = -1};
    refused = (struct error){0};
    const enum status s = open_now(&f, a->path, e);
    if (s)
        return s;
    a->reader(&f);
    hdf5_abort(&f);
    if (refused.status)
        *e = refused;
    return refused.status;
}

enum status hdf5_open(struct hdf5_file *f, const char *path, hdf5_reader *reader, struct error *e)
{
    struct stat st;
    struct attempt a = {path, reader};
    *f = (struct hdf5_file){.id = -1};
    if (stat(path, &st) || access(path, R_OK))
        return error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    if (!S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT, "%s: not an ordinary file; expected an HDF5 file", path);
    f->bytes = (uint64_t)st.st_size;
    if (trial_is_on()) {
        trial_reach(path);
    } else if (!was_tried(&st, reader)) {
        const enum status s = trial_run(path, attempt, &a, e);
        if (s)
            return s;
        note_trial(&st, reader);
    }
    return open_now(f, path, e);
}

enum status hdf5_take(const char *path, hdf5_reader *reader, hdf5_taker *take, void *what,
                      struct error *e)
{
    struct hdf5_file f;
    enum status s = hdf5_open(&f, path, reader, e);
    s = s ? s : take(&f, path, what, e);
    hdf5_abort(&f);
    return s;
}

/* --- data sets ---------------------------------------------------------------------------- */

/* Calls `seen` for each file that stores a part of a data set, until `seen` returns false.
 * `from` is the name of the file of the data set, `name` that of the other file, and `object`
 * the data set in the other file ("": external storage, which is not an HDF5 file). */
static void each_part(hid_t data,
                      bool (*seen)(const char *from, const char *name, const char *object,
                                   void *what),
                      void *what)
{
    char from[PATH_MAX] = "", name[PATH_MAX], object[PATH_MAX];
    const hid_t made = H5Dget_create_plist(data);
    size_t count = 0;
    (void)H5Fget_name(data, from, sizeof from);
    if (H5Pget_layout(made) == H5D_VIRTUAL)
        (void)H5Pget_virtual_count(made, &count);
    for (size_t i = 0; i < count; i++)
        if (H5Pget_virtual_filename(made, i, name, sizeof name) <= 0 ||
            H5Pget_virtual_dsetname(made, i, object, sizeof object) <= 0 ||
            !seen(from, name, object, what))
            break;
    const int files = H5Pget_external_count(made);
    for (int i = 0; i < files; i++) {
        off_t at;
        hsize_t size;
        if (H5Pget_external(made, (unsigned)i, sizeof name, name, &at, &size) < 0 ||
            !seen(from, name, "", what))
            break;
    }
    (void)H5Pclose(made);
}

static bool is_pattern(const char *name)
{
    return strchr(name, '%');
}

static bool is_ordinary(const char *from, const char *name, const char *object, void *good)
{
    char path[PATH_MAX];
    (void)object;
    if (strcmp(name, ".") == 0 || is_pattern(name) || find_part(from, name, path) != PLACE_OTHER)
        return true;
    refuse_file(path, "not an ordinary file, but a data set refers to it");
    *(bool *)good = false;
    return false;
}

/* Computes the bytes of a data set and of one of its chunks (0: the data set has no chunks).
 * Returns false if a size is not possible. */
static bool measure_data(hid_t data, uint64_t *bytes, uint64_t *chunk_bytes)
{
    hsize_t dims[H5S_MAX_RANK];
    const hid_t made = H5Dget_create_plist(data), type = H5Dget_type(data),
                space = H5Dget_space(data);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    bool good = count >= 0 && size > 0 && !__builtin_mul_overflow((uint64_t)count, size, bytes);
    *chunk_bytes = 0;
    if (good && H5Pget_layout(made) == H5D_CHUNKED) {
        const int rank = H5Pget_chunk(made, H5S_MAX_RANK, dims);
        *chunk_bytes = size;
        for (int i = 0; i < rank && good; i++)
            good = !__builtin_mul_overflow(*chunk_bytes, dims[i], chunk_bytes);
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Pclose(made);
    return good;
}

/* In the trial process: refuses the file if a data set exists but cannot be opened, so that the
 * program does not try to open it again.  The library reads out of bounds if a data set is
 * corrupt.  The result, an error or a crash, can differ between the trial process and the
 * program. */
static void refuse_damaged(hid_t file, const char *path)
{
    char name[PATH_MAX] = "", what[HDF5_REASON];
    if (!trial_is_on() || H5Oget_comment_by_name(file, path, NULL, 0, hdf5_links()) < 0)
        return;
    const hid_t group = H5Gopen2(file, path, H5P_DEFAULT);
    if (group >= 0) {
        (void)H5Gclose(group);
        return;
    }
    (void)H5Fget_name(file, name, sizeof name);
    (void)snprintf(what, sizeof what, "%.200s: corrupt (the data set cannot be opened)", path);
    refuse_file(name, what);
}

hid_t hdf5_open_data(hid_t file, const char *path)
{
    static hid_t list = -1;
    bool good = true;
    uint64_t bytes, chunk;
    if (list < 0)
        list = careful(H5P_DATASET_ACCESS);
    const hid_t data = H5Dopen2(file, path, list);
    if (data < 0) {
        refuse_damaged(file, path);
        return data;
    }
    each_part(data, is_ordinary, &good);
    if (good && measure_data(data, &bytes, &chunk) && (chunk <= CHUNK_BYTES || chunk / 2 <= bytes))
        return data;
    (void)H5Dclose(data);
    return -1;
}

struct missing {
    char *name;
    bool found;
};

/* Returns true if the file has an object at the path `object`. */
static bool has_object(const char *path, const char *object)
{
    const hid_t access = hdf5_access(), file = H5Fopen(path, H5F_ACC_RDONLY, access);
    const bool has = file >= 0 && hdf5_exists(file, object);
    if (file >= 0)
        (void)H5Fclose(file);
    (void)H5Pclose(access);
    return has;
}

static bool is_there(const char *from, const char *name, const char *object, void *what)
{
    struct missing *m = what;
    char path[PATH_MAX];
    if (strcmp(name, ".") == 0 || is_pattern(name))
        return true;
    const enum place place = find_part(from, name, path);
    m->found = place != PLACE_FILE || (*object && !has_object(path, object));
    if (m->found)
        (void)snprintf(m->name, HDF5_REASON, "%.380s%s", path,
                       place == PLACE_MISSING ? "" : ", as it should");
    return !m->found;
}

bool hdf5_missing_part(hid_t data, char name[HDF5_REASON])
{
    struct missing m = {name, false};
    each_part(data, is_there, &m);
    return m.found;
}

int hdf5_sizes(hid_t data, int least, int most, uint64_t numbers, hsize_t *size)
{
    const hid_t space = data < 0 ? -1 : H5Dget_space(data);
    const int rank = space < 0 ? 0 : H5Sget_simple_extent_ndims(space);
    bool good = rank >= least && rank <= most && rank > 0 &&
                H5Sget_simple_extent_dims(space, size, NULL) == rank;
    for (int i = 0; i < rank && good; i++) {
        good = size[i] && size[i] <= numbers;
        numbers /= good ? size[i] : 1;
    }
    if (space >= 0)
        (void)H5Sclose(space);
    return good ? rank : 0;
}

/* Returns the first filter of the data set that the library does not have, so that it cannot
 * unpack the data set.  Returns 0 if there is no such filter. */
static H5Z_filter_t find_foreign_filter(hid_t data)
{
    const hid_t made = H5Dget_create_plist(data);
    const int filters = H5Pget_nfilters(made);
    H5Z_filter_t foreign = 0;
    for (int i = 0; i < filters && !foreign; i++) {
        size_t values = 0;
        unsigned flags;
        const H5Z_filter_t filter =
            H5Pget_filter2(made, (unsigned)i, &flags, &values, NULL, 0, NULL, NULL);
        foreign = H5Zfilter_avail(filter) > 0 ? 0 : filter;
    }
    (void)H5Pclose(made);
    return foreign;
}

/* Returns the name of a filter for error messages.  Knows the filters that Python's h5py and
 * hdf5plugin support.  Returns "unknown" for others. */
static const char *name_filter(H5Z_filter_t filter)
{
    static const struct {
        H5Z_filter_t filter;
        const char *name;
    } names[] = {{H5Z_FILTER_SZIP, "szip"}, {32000, "LZF"},      {32001, "Blosc"}, {32004, "LZ4"},
                 {32008, "bitshuffle"},     {32015, "Zstandard"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].filter == filter)
            return names[i].name;
    return "unknown";
}

enum status hdf5_read_numbers(hid_t data, const char *path, const char *name, hid_t as,
                              void *values, struct error *e)
{
    char missing[HDF5_REASON];
    const hid_t type = H5Dget_type(data);
    const H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    if (type >= 0)
        (void)H5Tclose(type);
    if (class != H5T_INTEGER && class != H5T_FLOAT)
        return error_set(e, STATUS_INPUT, "%s: %s has no numbers; expected integers or floats",
                         path, name);
    if (hdf5_missing_part(data, missing))
        return error_set(e, STATUS_INPUT, "%s: a part of %s is in %s, which is missing", path, name,
                         missing);
    const H5Z_filter_t filter = find_foreign_filter(data);
    if (filter)
        return error_set(e, STATUS_INPUT,
                         "%s: %s is compressed with filter %d (%s), which cannot be read here. "
                         "Repack it with h5repack --filter=GZIP=1",
                         path, name, (int)filter, name_filter(filter));
    return H5Dread(data, as, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0
               ? error_set(e, STATUS_INPUT, "%s: %s cannot be read", path, name)
               : STATUS_OK;
}

void hdf5_touch(hid_t data)
{
    hsize_t chunks;
    const hid_t made = H5Dget_create_plist(data), space = H5Dget_space(data);
    if (H5Pget_layout(made) == H5D_CHUNKED)
        (void)H5Dget_num_chunks(data, space, &chunks);
    (void)H5Sclose(space);
    (void)H5Pclose(made);
}

bool hdf5_affords(const struct hdf5_file *f, uint64_t bytes)
{
    return bytes <= TABLE_BYTES || bytes / TABLE_RATIO <= f->bytes;
}

/* --- links --------------------------------------------------------------------------------- */

bool hdf5_exists(hid_t file, const char *path)
{
    const hid_t object = H5Oopen(file, path, hdf5_links());
    if (object >= 0)
        (void)H5Oclose(object);
    return object >= 0;
}

/* Sets `reason` to the second half of a sentence that says where the broken link at `path`
 * should lead. */
static void explain_link(hid_t file, const char *path, const H5L_info_t *info,
                         char reason[HDF5_REASON])
{
    char from[PATH_MAX] = "", found[PATH_MAX];
    char *value =
        info->u.val_size && info->u.val_size < PATH_MAX ? calloc(1, info->u.val_size + 1) : NULL;
    const char *name = "", *object = "";
    unsigned flags;
    (void)snprintf(reason, HDF5_REASON, "is a broken link");
    if (!value || H5Lget_val(file, path, value, info->u.val_size, hdf5_links()) < 0) {
        free(value);
        return;
    }
    if (info->type == H5L_TYPE_SOFT)
        (void)snprintf(reason, HDF5_REASON, "is a link to %.200s, which is missing", value);
    else if (info->type == H5L_TYPE_EXTERNAL &&
             H5Lunpack_elink_val(value, info->u.val_size, &flags, &name, &object) >= 0) {
        (void)H5Fget_name(file, from, sizeof from);
        const enum place place = find_part(from, name, found);
        (void)snprintf(reason, HDF5_REASON, "is a link to %.120s in %.200s, which %s", object,
                       found,
                       place == PLACE_MISSING ? "is missing"
                       : place == PLACE_OTHER ? "is not an ordinary file"
                                              : "cannot be read or does not have it");
    }
    free(value);
}

bool hdf5_explain(hid_t file, const char *path, char reason[HDF5_REASON])
{
    char part[PATH_MAX], why[HDF5_REASON];
    size_t length = 0;
    if (strlen(path) >= sizeof part || hdf5_exists(file, path))
        return false;
    for (int i = 0; i < COMPONENTS_MAX && path[length]; i++) {
        H5L_info_t info;
        length += strspn(path + length, "/");
        length += strcspn(path + length, "/");
        (void)snprintf(part, sizeof part, "%.*s", (int)length, path);
        if (hdf5_exists(file, part))
            continue;
        if (H5Lget_info(file, part, &info, hdf5_links()) < 0 || info.type == H5L_TYPE_HARD)
            return false;
        explain_link(file, part, &info, why);
        (void)snprintf(reason, HDF5_REASON, "%.120s %.270s", part, why);
        return true;
    }
    return false;
}

/* --- texts --------------------------------------------------------------------------------- */

/* Returns true if the type is a text of fixed length that fits into text[size].  Then fills
 * text[] with zeros. */
static bool takes_text(hid_t type, char *text, size_t size)
{
    const bool good = type >= 0 && H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type) &&
                      H5Tget_size(type) < size;
    if (good)
        memset(text, 0, size);
    return good;
}

static bool is_one(hid_t space)
{
    const bool one = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;
    if (space >= 0)
        (void)H5Sclose(space);
    return one;
}

bool hdf5_read_text(struct hdf5_file *f, const char *path, char *text, size_t size)
{
    const hid_t data = hdf5_open_data(f->id, path);
    const hid_t type = data >= 0 ? H5Dget_type(data) : -1;
    const bool good = takes_text(type, text, size) && is_one(H5Dget_space(data)) &&
                      H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0;
    if (type >= 0)
        (void)H5Tclose(type);
    if (data >= 0)
        (void)H5Dclose(data);
    return good;
}

bool hdf5_read_note(struct hdf5_file *f, const char *path, const char *name, char *text,
                    size_t size)
{
    const hid_t note = H5Aopen_by_name(f->id, path, name, H5P_DEFAULT, hdf5_links());
    const hid_t type = note >= 0 ? H5Aget_type(note) : -1;
    const bool good = takes_text(type, text, size) && is_one(H5Aget_space(note)) &&
                      H5Aread(note, type, text) >= 0;
    if (type >= 0)
        (void)H5Tclose(type);
    if (note >= 0)
        (void)H5Aclose(note);
    return good;
}
