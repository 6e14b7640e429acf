/* Names of output files, and files that get their name when they are complete. */
#ifndef BRAGG_IO_OUTPUT_FILE_H
#define BRAGG_IO_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/idset.h"

/* ---- names --------------------------------------------------------------------------------- */

/* Makes and parses the names of numbered files, such as 'lyso_%04d.img'. */

enum { TEMPLATE_PATH_MAX = 4096 };  // bytes of a name, with the terminator

struct template
{
    const char *text;   // borrowed
    size_t start, end;  // of the conversion in `text`; equal if there is none
    int width;          // least number of digits, padded with `fill`
    char fill;          // '0' or ' '
};

/* Parses `text`.  The last part of the path may hold one conversion: `%d`, or with a width up to
 * 18, as in `%4d` or `%04d`.  STATUS_USAGE: any other `%`, or a name that is empty, ends in `/` or
 * is too long. */
enum status template_parse(struct template *t, const char *text, struct error *e);

static inline bool template_is_numbered(const struct template *t)
{
    return t->end > t->start;
}

/* Puts the name of file number `id` into name[TEMPLATE_PATH_MAX]. */
void template_name(const struct template *t, uint64_t id, char *name);

/* Returns true if `name` is the name of a numbered file, and sets *number to its number. */
bool template_number(const struct template *t, const char *name, uint64_t *number);

/* Adds the numbers of all existing files of a numbered template to *numbers. */
void template_list(const struct template *t, struct id_set *numbers);

/* Sets `name` to the name without the number and the separator before it, followed by `suffix`.
 * 'lyso_%04d.img' gives "lyso.img"; a bare '%d.img' gives "frames.img". */
void template_stem(const struct template *t, const char *suffix, char *name);

/* ---- complete files ------------------------------------------------------------------------ */

/*
 * Writes files that appear complete or not at all.
 *
 * A file is written under a temporary name in the same folder, then renamed.  Until the file is
 * renamed, the process holds a lock on it.  A temporary file without a lock is a leftover of a
 * process that died; leftovers_remove removes it.  A device, pipe or other special file is
 * written in place.
 */

struct template;

struct replace {
    FILE *stream;     // the caller writes to this stream
    int file;         // descriptor of the stream
    char *path;       // final name, owned
    char *temporary;  // name until the file is complete, owned; NULL: written in place
    bool sync;        // may be set after replace_open: wait for the disk
    bool guarded;     // may be set after replace_open: an existing file is replaced only if the
                      // new file begins with its whole content, so that nothing is lost
    bool flushed;     // replace_flush has succeeded
    bool adopted;     // by replace_adopt
};

/* Opens a stream for the future content of `path`.  The caller always calls replace_commit or
 * replace_abort.  STATUS_FAILED: the file cannot be opened. */
enum status replace_open(struct replace *r, const char *path, struct error *e);

/* Prepares to give the existing file `temporary`, which is open with the descriptor `file`, the
 * name `path`.  The caller calls replace_commit or replace_abort.  Both keep the file `temporary`,
 * which has a second name after replace_commit.  If the file system has no links, it is renamed.
 * STATUS_FAILED: the descriptor cannot be used. */
enum status replace_adopt(struct replace *r, const char *path, const char *temporary, int file,
                          struct error *e);

/* Does the part of replace_commit that may take long or may fail because the disk is full.
 * Optional. */
enum status replace_flush(struct replace *r, struct error *e);

/* After replace_flush: returns true if the existing file begins with the whole new content, and has
 * more. */
bool replace_shortens(const struct replace *r);

/* Flushes, closes and renames the file.  Checks every step.  Frees *r in any case.
 * STATUS_FAILED: a step failed, for example because the disk is full; no file is left. */
enum status replace_commit(struct replace *r, struct error *e);

/* Waits until the new name of `path` is on the disk.  Returns false, with errno, if that fails. */
bool replace_sync_folder(const char *path);

/* Sets *e to the error that an existing file is in the way of a guarded one.  Returns
 * STATUS_FAILED. */
enum status replace_refuse(const char *path, struct error *e);

/* Discards the new content.  Frees *r. */
void replace_abort(struct replace *r);

/* Removes the temporary files that replace_open has made for files of this template, except those
 * to which a living process on this host writes. */
void leftovers_remove(const struct template *t);

#endif
