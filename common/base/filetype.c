#include "base/filetype.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { WINDOW = 16 << 10 };

/* Bytes that identify a file type: at the beginning of a file (first_bytes), or at the beginning
 * of the first line that is neither blank nor a comment (first_line). */
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
    MARK(MTZ, "MTZ "),
    MARK(HDF5, "\x89HDF\r\n\x1a\n"),
    MARK(PNG, "\x89PNG"),
    MARK(CBF, "###CBF"),
    MARK(TIFF, "II*\0"),
    MARK(TIFF, "MM\0*"),
    MARK(CBOR, "\xd9\xd9\xf7"),
    MARK(GZIP, "\x1f\x8b"),
    MARK(ZIP, "PK\x03\x04"),
    MARK(XZ, "\xfd\x37zXZ"),
    MARK(BZIP2, "BZh"),
    MARK(NPY, "\x93NUMPY"),
    MARK(XDS, "!FORMAT=XDS"),
    MARK(RECORDING, "\x89"
                    "bragg\r\n"),
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
    MARK(CELL, "CrystFEL unit cell file"),
    MARK(TRUTH, "frame\t"),
    MARK(PIPELINE, "stages:"),
};

static enum filetype find_mark(const struct mark *list, size_t count, const char *at, size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (n >= list[i].length && memcmp(at, list[i].bytes, list[i].length) == 0)
            return list[i].type;
    return FILETYPE_OTHER;
}

static bool contains_text(const char *bytes, size_t n, const char *text)
{
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

/* Returns the number of bytes of white space and comments before the first other byte. */
static size_t skip(const char *bytes, size_t n)
{
    size_t i = 0;
    while (i < n && (memchr(" \t\r\n", bytes[i], 4) || bytes[i] == '#')) {
        const char *end = bytes[i] == '#' ? memchr(bytes + i, '\n', n - i) : bytes + i;
        i = end ? (size_t)(end - bytes) + 1 : n;
    }
    return i;
}

/* Returns true if the first character of a text is `first` and the next one is `second`, without
 * regard to white space and comments. */
static bool begins(const char *bytes, size_t n, char first, char second)
{
    const size_t i = skip(bytes, n), k = i < n ? i + 1 + skip(bytes + i + 1, n - i - 1) : n;
    return k < n && bytes[i] == first && bytes[k] == second;
}

/* Returns the type of an image that begins with keys in braces, SMV or EDF.  FILETYPE_OTHER: it
 * is neither. */
static enum filetype by_braces(const char *bytes, size_t n)
{
    enum { KEYS = 512 };
    const size_t near = n < KEYS ? n : KEYS;
    if (!n || bytes[0] != '{')
        return FILETYPE_OTHER;
    return contains_text(bytes, near, "HEADER_BYTES") ? FILETYPE_SMV
           : contains_text(bytes, near, "EDF_") || contains_text(bytes, near, "HeaderID") ||
                   (contains_text(bytes, near, "ByteOrder") && contains_text(bytes, near, "Dim_1"))
               ? FILETYPE_EDF
               : FILETYPE_OTHER;
}

/* Returns the type of a text file from words anywhere in its first bytes. */
static enum filetype by_words(const char *bytes, size_t n)
{
    if (begins(bytes, n, '{', '"') && contains_text(bytes, n, "\"ExperimentList\""))
        return FILETYPE_EXPT;
    if (contains_text(bytes, n, "dials::af::reflection_table"))
        return FILETYPE_REFL;
    if (contains_text(bytes, n, "Poni1") && contains_text(bytes, n, "Poni2"))
        return FILETYPE_PONI;
    if (contains_text(bytes, n, "\nstages:"))
        return FILETYPE_PIPELINE;
    return contains_text(bytes, n, "/min_fs") ? FILETYPE_GEOM : FILETYPE_OTHER;
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
    if (type == FILETYPE_MODEL && contains_text(bytes, n, "_refln."))
        return FILETYPE_REFLN;
    return type ? type : by_words(bytes, n);
}

enum filetype filetype_of_file(FILE *in)
{
    char bytes[WINDOW];
    return fseek(in, 0, SEEK_SET) ? FILETYPE_OTHER
                                  : filetype_of(bytes, fread(bytes, 1, sizeof bytes, in));
}

/* --- what to do with a file of the wrong type ------------------------------------------ */

/* Types of files that a reader of the type `wanted` accepts, besides `wanted` itself. */
static const struct {
    enum filetype wanted, type;
} accepted[] = {
    {FILETYPE_PIXELS, FILETYPE_SMV},         {FILETYPE_PIXELS, FILETYPE_CBF},
    {FILETYPE_DETECTOR, FILETYPE_PONI},      {FILETYPE_DETECTOR, FILETYPE_HDF5},
    {FILETYPE_DETECTOR, FILETYPE_CBF},       {FILETYPE_DETECTOR, FILETYPE_SMV},
    {FILETYPE_SPECTRA, FILETYPE_HDF5},       {FILETYPE_FRAMES, FILETYPE_RECORDING},
    {FILETYPE_FRAMES, FILETYPE_SMV},         {FILETYPE_FRAMES, FILETYPE_CBF},
    {FILETYPE_FRAMES, FILETYPE_HDF5},        {FILETYPE_FRAMES, FILETYPE_TIFF},
    {FILETYPE_FRAMES, FILETYPE_EDF},         {FILETYPE_INDEXED, FILETYPE_EXPT},
    {FILETYPE_FRAMES, FILETYPE_CBOR},        {FILETYPE_DETECTOR, FILETYPE_CBOR},
    {FILETYPE_INDEXED, FILETYPE_REFL},       {FILETYPE_INDEXED, FILETYPE_STREAM},
    {FILETYPE_GROUND_TRUTH, FILETYPE_HDF5},  {FILETYPE_GROUND_TRUTH, FILETYPE_RECORDING},
    {FILETYPE_GROUND_TRUTH, FILETYPE_TRUTH}, {FILETYPE_GROUND_TRUTH, FILETYPE_STREAM},
    {FILETYPE_GROUND_TRUTH, FILETYPE_REFL},  {FILETYPE_PEAKS, FILETYPE_TRUTH},
    {FILETYPE_SENT, FILETYPE_TRUTH},         {FILETYPE_OTHER, FILETYPE_TRUTH},
    {FILETYPE_RESULTS, FILETYPE_STREAM},
};

static bool is_accepted(enum filetype type, enum filetype wanted)
{
    bool found = type == wanted;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted && !found; i++)
        found = accepted[i].wanted == wanted && accepted[i].type == type;
    return found;
}

#define DIALS_IMPORT "dials.import %s makes an experiment list, for bragg-geometry --expt"

/* Hints that end a message about a file of the wrong type: each names a command that reads or
 * converts the file.  A row is for files of the type `type` where a file of the type `wanted` was
 * expected; `wanted` FILETYPE_OTHER: whatever was expected.  The first row that matches is used.
 * %s stands for the name of the file. */
static const struct {
    enum filetype type, wanted;
    const char *text;
} advice[] = {
    {FILETYPE_CBF, FILETYPE_EXPT, "dials.import %s makes one"},
    {FILETYPE_SMV, FILETYPE_EXPT, "dials.import %s makes one"},
    {FILETYPE_TIFF, FILETYPE_EXPT, "dials.import %s makes one"},
    {FILETYPE_EDF, FILETYPE_EXPT, "dials.import %s makes one"},
    {FILETYPE_HDF5, FILETYPE_EXPT, "dials.import %s makes one of an NXmx file"},
    {FILETYPE_CBF, FILETYPE_GEOM, DIALS_IMPORT},
    {FILETYPE_SMV, FILETYPE_GEOM, DIALS_IMPORT},
    {FILETYPE_TIFF, FILETYPE_GEOM, DIALS_IMPORT},
    {FILETYPE_EDF, FILETYPE_GEOM, DIALS_IMPORT},
    {FILETYPE_HDF5, FILETYPE_GEOM, "bragg-geometry --detector reads the detector of an NXmx file"},
    {FILETYPE_TIFF, FILETYPE_DETECTOR, DIALS_IMPORT},
    {FILETYPE_EDF, FILETYPE_DETECTOR, DIALS_IMPORT},
    {FILETYPE_HDF5, FILETYPE_SMV, "bragg-geometry --detector reads the mask of an NXmx file"},
    {FILETYPE_REFL, FILETYPE_EXPT, "DIALS writes both: the experiment list ends in .expt"},
    {FILETYPE_REFL, FILETYPE_OTHER, "bragg-score reads it"},
    {FILETYPE_EXPT, FILETYPE_REFL, "DIALS writes both: the table ends in .refl"},
    {FILETYPE_EXPT, FILETYPE_OTHER,
     "bragg-geometry --expt reads its detector, --matrix=FILE.expt its crystal"},
    {FILETYPE_STREAM, FILETYPE_GEOM,
     "it contains one, from 'Begin geometry file' to 'End geometry file'"},
    {FILETYPE_STREAM, FILETYPE_OTHER, "bragg-score reads it"},
    {FILETYPE_CELL, FILETYPE_OTHER,
     "bragg-geometry --cell=A,B,C,ALPHA,BETA,GAMMA takes its numbers"},
    {FILETYPE_PIPELINE, FILETYPE_OTHER, "bragg-run %s runs it"},
    {FILETYPE_RECORDING, FILETYPE_OTHER, "bragg-replay %s plays it"},
    {FILETYPE_TRUTH, FILETYPE_OTHER, "bragg-score reads it"},
    {FILETYPE_MTZ, FILETYPE_OTHER, "bragg-geometry --mtz reads it"},
    {FILETYPE_MODEL, FILETYPE_OTHER,
     "bragg-geometry --model computes structure factors from it with gemmi sfcalc"},
    {FILETYPE_REFLN, FILETYPE_OTHER,
     "gemmi cif2mtz converts it to an MTZ file for bragg-geometry --mtz"},
    {FILETYPE_XDS, FILETYPE_OTHER, "xdsconv converts it to amplitudes for bragg-geometry --mtz"},
    {FILETYPE_CRYSTFEL, FILETYPE_OTHER,
     "get_hkl and ctruncate convert it to amplitudes for bragg-geometry --mtz"},
    {FILETYPE_GEOM, FILETYPE_OTHER, "bragg-geometry --geom reads it"},
    {FILETYPE_PONI, FILETYPE_OTHER, "bragg-geometry --detector reads it"},
    {FILETYPE_PNG, FILETYPE_OTHER,
     "it has shades of grey and no counts: give the image of which it was made"},
    {FILETYPE_NPY, FILETYPE_OTHER, "array.astype('<f4').tofile(...) writes float32 pixels"},
    {FILETYPE_GZIP, FILETYPE_OTHER, "gunzip unpacks it"},
    {FILETYPE_ZIP, FILETYPE_OTHER, "unzip unpacks it"},
    {FILETYPE_XZ, FILETYPE_OTHER, "unxz unpacks it"},
    {FILETYPE_BZIP2, FILETYPE_OTHER, "bunzip2 unpacks it"},
};

static const char *name_of(enum filetype type)
{
    static const char *const names[] = {
#define X(symbol, name) name,
        FILETYPE_MAP(X)
#undef X
    };
    return names[type];
}

/* Writes a full stop and the hint for such a file to text[size], or "" if there is no hint. */
static void advise(const char *path, enum filetype type, enum filetype wanted, char *text,
                   size_t size)
{
    const char *found = NULL;
    for (size_t i = 0; i < sizeof advice / sizeof *advice && !found; i++)
        if (advice[i].type == type &&
            (advice[i].wanted == wanted || advice[i].wanted == FILETYPE_OTHER))
            found = advice[i].text;
    const char *name = found ? strstr(found, "%s") : NULL;
    if (name)
        (void)snprintf(text, size, ". %.*s%.80s%s", (int)(name - found), found, path, name + 2);
    else
        (void)snprintf(text, size, "%s%s", found ? ". " : "", found ? found : "");
}

enum status filetype_check(const char *path, enum filetype type, enum filetype wanted,
                           struct error *e)
{
    char next[200];
    if (type == FILETYPE_OTHER || is_accepted(type, wanted))
        return STATUS_OK;
    advise(path, type, wanted, next, sizeof next);
    return error_set(e, STATUS_INPUT, "%s: is %s; expected %s%s", path, name_of(type),
                     name_of(wanted), next);
}

static FILE *open_regular(const char *path)
{
    struct stat what;
    return stat(path, &what) == 0 && S_ISREG(what.st_mode) ? fopen(path, "rbe") : NULL;
}

enum status filetype_check_file(const char *path, enum filetype wanted, struct error *e)
{
    FILE *in = open_regular(path);
    const enum status s = in ? filetype_check(path, filetype_of_file(in), wanted, e) : STATUS_OK;
    if (in)
        (void)fclose(in);
    return s;
}

void filetype_tell(const char *path, char *text, size_t size)
{
    char next[200];
    FILE *in = open_regular(path);
    const enum filetype type = in ? filetype_of_file(in) : FILETYPE_OTHER;
    if (in)
        (void)fclose(in);
    *text = '\0';
    if (type == FILETYPE_OTHER)
        return;
    advise(path, type, FILETYPE_OTHER, next, sizeof next);
    (void)snprintf(text, size, ": is %s%s", name_of(type), next);
}

bool filetype_begins(const char *path, const void *bytes, size_t n)
{
    char first[64];
    FILE *in = open_regular(path);
    if (!in)
        return false;
    const bool whole = n <= sizeof first && fread(first, 1, n, in) == n;
    (void)fclose(in);
    return whole && memcmp(first, bytes, n) == 0;
}
