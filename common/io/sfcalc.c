#include "io/sfcalc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "io/filetype.h"
#include "io/hkl.h"
#include "io/mtz.h"
#include "io/replace.h"
#include "io/tool.h"

#define KSOLV "--ksolv=0.35"
#define BSOLV "--bsolv=46"
enum { SAID = 200, FIRST_OF_SOLVENT = 5 };

/* What is asked for, and where it goes. */
struct job {
    const char *path, *place;  // the model, and where to keep what comes of it or NULL
    char *dmin;                // "--dmin=..."
    uint64_t content;          // hash of the model
    struct mtz_rows *rows;
};

static enum status read_file(const char *path, const struct job *j, struct error *e)
{
    mtz_rows_free(j->rows);
    return mtz_read_phases(path, "FC,PHIC", j->rows, e);
}

/* --- what is kept --------------------------------------------------------- */

/* Of the content, into *hash. */
static enum status hash_file(const char *path, uint64_t *hash, struct error *e)
{
    char bytes[1 << 16];
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: must be an ordinary file", path);
    FILE *in = fopen(path, "rbe");
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    *hash = HASH_START;
    const enum filetype type = filetype_of_file(in);
    enum status s =
        type == FILETYPE_GZIP ? STATUS_OK : filetype_check(path, type, FILETYPE_MODEL, e);
    rewind(in);
    for (size_t n; !s && (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
        *hash = hash_bytes(*hash, bytes, n);
    if (!s && ferror(in))
        s = error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    (void)fclose(in);
    return s;
}

/* The file for a hash, in a folder that is made; false when there is no place for it. */
static bool find_place(uint64_t hash, char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool named = cache && *cache == '/';
    if (!named && (!home || *home != '/'))
        return false;
    int n = snprintf(path, size, "%s%s", named ? cache : home, named ? "" : "/.cache");
    if (n < 0 || (size_t)n + 64 > size)
        return false;
    (void)mkdir(path, 0700);
    n += snprintf(path + n, size - (size_t)n, "/braggpipe");
    (void)mkdir(path, 0700);
    (void)snprintf(path + n, size - (size_t)n, "/sfcalc-%016" PRIx64 ".mtz", hash);
    return true;
}

/* Where that fails nothing is kept, nor where the model is another one by now. */
static void keep(const struct job *j, int file)
{
    uint64_t now;
    struct replace r;
    char bytes[1 << 16];
    ssize_t n;
    off_t at = 0;
    if (!j->place || hash_file(j->path, &now, NULL) || now != j->content ||
        replace_open(&r, j->place, NULL))
        return;
    r.sync = true;
    while ((n = pread(file, bytes, sizeof bytes, at)) > 0 &&
           fwrite(bytes, 1, (size_t)n, r.stream) == (size_t)n)
        at += n;
    if (n == 0)
        (void)replace_commit(&r, NULL);
    else
        replace_abort(&r);
}

/* --- gemmi ---------------------------------------------------------------- */

/* Its name and version. */
static enum status find_gemmi(char version[SAID], struct error *e)
{
    char *argv[] = {"gemmi", "--version", NULL};
    const enum status s = tool_run(argv, -1, version, SAID, e);
    return s == STATUS_OK || s == STATUS_INTERRUPTED
               ? s
               : error_set(e, STATUS_FAILED,
                           "--model needs the program gemmi, which computes structure factors: "
                           "`apt install gemmi`, or give them by --mtz");
}

/* What to do about what gemmi says. */
static const char *advice(const char *said)
{
    static const struct {
        const char *said, *advice;
    } list[] = {
        {"Unknown format", " Its name must end in .pdb, .ent, .cif or .mmcif"},
        {"space group",
         "; CRYST1 of a PDB file, or _cell and _symmetry, must say cell and symmetry"},
        {"unit cell",
         " CRYST1 of a PDB file, or _cell of an mmCIF file, must be that of a crystal"},
        {"bad_alloc", ": more than 8 GiB of memory, --dmin must be larger"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strstr(said, list[i].said))
            return list[i].advice;
    return "";
}

static enum status compute(const struct job *j, int file, const char *name, struct error *e)
{
    char to[TOOL_NAME_SIZE + 16], model[TOOL_PATH_SIZE], said[SAID];
    struct error cause = {0};
    char *argv[] = {"gemmi", "sfcalc", j->dmin, to, model, KSOLV, BSOLV, NULL};
    (void)snprintf(to, sizeof to, "--to-mtz=%s", name);
    tool_path(j->path, model);
    enum status s = tool_run(argv, file, said, sizeof said, &cause);
    if (s == STATUS_INPUT && strstr(said, "only used for macromolecular structures")) {
        argv[FIRST_OF_SOLVENT] = NULL;  // between small molecules there is none
        s = tool_run(argv, file, said, sizeof said, &cause);
    }
    char *options = strstr(said, ". Add --");  // of gemmi, which nobody can give here
    if (options)
        *options = '\0';
    const char *why = strncmp(said, "ERROR: ", 7) == 0 ? said + 7 : said;
    if (s == STATUS_INPUT)
        return error_set(e, s, "%s: gemmi sfcalc: %s%s", j->path, *why ? why : cause.text,
                         advice(why));
    return s ? error_set(e, s, "%s: %s", j->path, cause.text) : STATUS_OK;
}

static enum status compute_and_keep(const struct job *j, struct error *e)
{
    char made[TOOL_NAME_SIZE];
    struct error cause = {0};
    int file;
    enum status s = tool_file(j->path, &file, made, e);
    if (s)
        return s;
    s = compute(j, file, made, e);
    if (!s && (s = read_file(made, j, &cause)))
        s = error_set(e, STATUS_INPUT, "%s: what gemmi sfcalc wrote cannot be read: %s", j->path,
                      strncmp(cause.text, made, strlen(made)) == 0
                          ? cause.text + strlen(made) + sizeof ": " - 1
                          : cause.text);
    else if (!s)
        keep(j, file);
    (void)close(file);
    return s;
}

enum status sfcalc_rows(const char *path, double dmin_A, struct mtz_rows *rows, struct error *e)
{
    char version[SAID], dmin[32], place[PATH_MAX];
    struct job j = {path, NULL, dmin, 0, rows};
    *rows = (struct mtz_rows){0};
    (void)snprintf(dmin, sizeof dmin, "--dmin=%.15g", dmin_A);
    enum status s;
    if ((s = hash_file(path, &j.content, e)) || (s = find_gemmi(version, e)))
        return s;
    const uint64_t hash = hash_text(hash_text(hash_text(j.content, version), dmin), KSOLV BSOLV);
    if (find_place(hash_finish(hash), place, sizeof place))
        j.place = place;
    if (j.place && read_file(place, &j, NULL) == STATUS_OK)
        return STATUS_OK;
    log_line(LOG_INFO, "%s: computing structure factors to %.15g A by %s", path, dmin_A, version);
    return compute_and_keep(&j, e);
}

enum status sfcalc_read(const char *path, double dmin_A, double default_F, struct hkl_table *t,
                        double cell_A[3], double cell_rad[3], struct error *e)
{
    struct mtz_rows rows;
    *t = (struct hkl_table){.default_F = default_F};
    enum status s = sfcalc_rows(path, dmin_A, &rows, e);
    memcpy(cell_A, rows.cell_A, sizeof rows.cell_A);
    memcpy(cell_rad, rows.cell_rad, sizeof rows.cell_rad);
    if (!s)
        s = mtz_expand(&rows, path, default_F, t, e);
    mtz_rows_free(&rows);
    return s;
}
