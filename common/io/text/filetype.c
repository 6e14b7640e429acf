#include "io/text/filetype.h"

#include <string.h>
#include <sys/stat.h>

enum { WINDOW = 16 << 10 };

/* Bytes at the very beginning, or at that of the first line that is neither blank nor a comment. */
struct mark {
    enum filetype type;
    size_t length;
    const char *bytes;
};

#define MARK(type, text)                        \
    {                                           \
        FILETYPE_##type, sizeof(text) - 1, text \
    }

static const struct mark first_bytes[] = {
    MARK(MTZ, "MTZ "),       MARK(HDF5, "\x89HDF\r\n\x1a\n"),
    MARK(PNG, "\x89PNG"),    MARK(CBF, "###CBF"),
    MARK(TIFF, "II*\0"),     MARK(TIFF, "MM\0*"),
    MARK(GZIP, "\x1f\x8b"),  MARK(ZIP, "PK\x03\x04"),
    MARK(XZ, "\xfd\x37zXZ"), MARK(BZIP2, "BZh"),
    MARK(NPY, "\x93NUMPY"),  MARK(XDS, "!FORMAT=XDS"),
};

static const struct mark first_line[] = {
    MARK(MODEL, "HEADER    "),
    MARK(MODEL, "TITLE     "),
    MARK(MODEL, "REMARK "),
    MARK(MODEL, "CRYST1 "),
    MARK(MODEL, "MODEL  "),
    MARK(MODEL, "ATOM  "),
    MARK(MODEL, "HETATM"),
    MARK(MODEL, "data_"),
    MARK(STREAM, "CrystFEL stream format"),
    MARK(CRYSTFEL, "CrystFEL reflection list"),
};

static enum filetype find_mark(const struct mark *list, size_t count, const char *at, size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (n >= list[i].length && memcmp(at, list[i].bytes, list[i].length) == 0)
            return list[i].type;
    return FILETYPE_OTHER;
}

static bool has(const char *bytes, size_t n, const char *text)
{
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

/* Bytes of blanks and comments before anything else. */
static size_t skip(const char *bytes, size_t n)
{
    size_t i = 0;
    while (i < n && (memchr(" \t\r\n", bytes[i], 4) || bytes[i] == '#')) {
        const char *end = bytes[i] == '#' ? memchr(bytes + i, '\n', n - i) : bytes + i;
        i = end ? (size_t)(end - bytes) + 1 : n;
    }
    return i;
}

/* Whether `second` is the next after `first` in text without regard to blanks. */
static bool begins(const char *bytes, size_t n, char first, char second)
{
    const size_t i = skip(bytes, n), k = i < n ? i + 1 + skip(bytes + i + 1, n - i - 1) : n;
    return k < n && bytes[i] == first && bytes[k] == second;
}

/* Two kinds of images begin with keys in braces. */
static enum filetype by_braces(const char *bytes, size_t n)
{
    enum { KEYS = 512 };
    const size_t near = n < KEYS ? n : KEYS;
    if (!n || bytes[0] != '{')
        return FILETYPE_OTHER;
    return has(bytes, near, "HEADER_BYTES")                           ? FILETYPE_SMV
           : has(bytes, near, "EDF_") || has(bytes, near, "HeaderID") ? FILETYPE_EDF
                                                                      : FILETYPE_OTHER;
}

/* Returns the type of a text file from words anywhere in its first bytes. */
static enum filetype by_words(const char *bytes, size_t n)
{
    if (begins(bytes, n, '{', '"') && has(bytes, n, "\"ExperimentList\""))
        return FILETYPE_EXPT;
    if (has(bytes, n, "dials::af::reflection_table"))
        return FILETYPE_REFL;
    if (has(bytes, n, "Poni1") && has(bytes, n, "Poni2"))
        return FILETYPE_PONI;
    return has(bytes, n, "/min_fs") ? FILETYPE_GEOM : FILETYPE_OTHER;
}

enum filetype filetype_of(const char *bytes, size_t n)
{
    n = n < WINDOW ? n : WINDOW;
    enum filetype type = find_mark(first_bytes, sizeof first_bytes / sizeof *first_bytes, bytes, n);
    const size_t blank = skip(bytes, n);
    type = type ? type : by_braces(bytes, n);
    if (!type)
        type =
            find_mark(first_line, sizeof first_line / sizeof *first_line, bytes + blank, n - blank);
    if (type == FILETYPE_MODEL && has(bytes, n, "_refln."))
        return FILETYPE_REFLN;
    return type ? type : by_words(bytes, n);
}

enum filetype filetype_of_file(FILE *in)
{
    char bytes[WINDOW];
    return fseek(in, 0, SEEK_SET) ? FILETYPE_OTHER
                                  : filetype_of(bytes, fread(bytes, 1, sizeof bytes, in));
}

enum status filetype_check(const char *path, enum filetype type, enum filetype wanted,
                           struct error *e)
{
    static const struct {
        const char *name, *advice;
    } about[] = {
#define X(symbol, name, advice) {name, advice},
        FILETYPE_MAP(X)
#undef X
    };
    if (type == FILETYPE_OTHER || type == wanted)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT, "%s: this is %s; expected %s%s%s", path, about[type].name,
                     about[wanted].name, *about[type].advice ? "; " : "", about[type].advice);
}

enum status filetype_check_file(const char *path, enum filetype wanted, struct error *e)
{
    struct stat what;
    FILE *in = stat(path, &what) == 0 && S_ISREG(what.st_mode) ? fopen(path, "rbe") : NULL;
    const enum status s = in ? filetype_check(path, filetype_of_file(in), wanted, e) : STATUS_OK;
    if (in)
        (void)fclose(in);
    return s;
}

bool filetype_begins(const char *path, const void *bytes, size_t n)
{
    char first[64];
    struct stat what;
    FILE *in = stat(path, &what) == 0 && S_ISREG(what.st_mode) ? fopen(path, "rbe") : NULL;
    if (!in)
        return false;
    const bool whole = n <= sizeof first && fread(first, 1, n, in) == n;
    (void)fclose(in);
    return whole && memcmp(first, bytes, n) == 0;
}
