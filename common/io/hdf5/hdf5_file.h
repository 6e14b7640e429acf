/*
 * HDF5 files, which are written and read.
 *
 * A file that is written appears complete or not at all.  Groups, data sets and attributes are
 * added by their absolute paths.  If a step fails, the file stores the failure, and hdf5_commit
 * reports it: callers check only once, at the end.  Equal calls make equal bytes.
 *
 * Files of any program are read.  They are opened first in a trial process, because the library
 * crashes on corrupt files.  Only regular files are opened.  This also holds for files that links,
 * virtual data sets and external storage refer to.
 */
#ifndef BRAGG_IO_HDF5_FILE_H
#define BRAGG_IO_HDF5_FILE_H

#include <hdf5.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/output/output_file.h"

/*
 * A driver of the HDF5 library that completes a file in place.
 *
 * The file already holds the chunks of its data sets, at any positions.  The library adds
 * everything else: the superblock at the beginning of the file, where HDF5_FRONT bytes are free,
 * and groups, tables and indexes of chunks after the existing bytes.  The existing bytes are
 * neither read nor written.
 */

/* Bytes at the beginning of a file that are left free for the superblock of HDF5. */
enum { HDF5_FRONT = 128 };

/* A file that is completed in place.  The caller sets `file` and `kept`; all else is 0.  It must
 * exist until the library has closed the file. */
struct hdf5_inplace {
    int file;             // borrowed; descriptor, open for reading and writing
    uint64_t kept;        // size of the existing content, which includes the front
    haddr_t end;          // of the file, as the library sees it
    haddr_t place;        // of the next chunk in the existing content; 0: the chunk is new
    size_t place_length;  // bytes of that chunk
    bool placed;          // the chunk has got its place, and the library will now write it
};

struct hdf5_file {
    hid_t id;
    char *path;                   // owned
    struct replace replace;       // of a file that is being written: its temporary file
    struct hdf5_inplace inplace;  // of a file that is completed in place
    uint64_t bytes;               // of a file that is being read: its size
    bool failed;                  // a step has failed
    int cause;                    // errno of the first step that failed, 0: unknown
};

/* Returns the access property list with which files are opened.  The caller closes it. */
hid_t hdf5_access(void);

/* --- files that are written (hdf5_file.c) ------------------------------------------ */

/* Creates a file.  `sync`: wait for the disk at the end.  The caller calls hdf5_commit or
 * hdf5_abort. */
enum status hdf5_create(struct hdf5_file *f, const char *path, bool sync, struct error *e);

/* Creates a file that is only in memory.  The caller calls hdf5_take_bytes or hdf5_abort. */
void hdf5_create_in_memory(struct hdf5_file *f);

/* Closes a file that is only in memory, and returns its *size bytes in *bytes, which the caller
 * frees with mem_free.  STATUS_FAILED, and no bytes, if anything failed since
 * hdf5_create_in_memory. */
enum status hdf5_take_bytes(struct hdf5_file *f, void **bytes, size_t *size, struct error *e);

/* Completes the file `existing`, which is open with the descriptor `file`, and of which the first
 * `kept` bytes stay.  hdf5_commit gives it the name `path`, see replace_adopt.  *f must stay where
 * it is.  If the file is not committed, it keeps its name and the first `kept` bytes. */
enum status hdf5_complete(struct hdf5_file *f, const char *path, const char *existing, int file,
                          uint64_t kept, bool sync, struct error *e);

/* Does the slow part of hdf5_commit.  Optional.  Nothing can be added to the file afterwards. */
void hdf5_settle(struct hdf5_file *f);

/* Closes and renames.  STATUS_FAILED, and no file, if anything failed since hdf5_create. */
enum status hdf5_commit(struct hdf5_file *f, struct error *e);
void hdf5_abort(struct hdf5_file *f);

/* Checks the result of a call of the HDF5 library, which is negative after an error, and stores an
 * error in *f.  Returns true if there was none. */
bool hdf5_good(struct hdf5_file *f, int64_t result);

/* Adds a group of a NeXus class. */
void hdf5_group(struct hdf5_file *f, const char *path, const char *nx_class);

/* Adds another path to the object `to`, which may be added later. */
void hdf5_link(struct hdf5_file *f, const char *path, const char *to);

/* Adds the groups above `path` that do not exist yet. */
void hdf5_groups_above(struct hdf5_file *f, const char *path);

/* Add a data set: a line of text, a whole number, a truth value, or reals of any rank (0: one
 * value). */
void hdf5_text(struct hdf5_file *f, const char *path, const char *text);
void hdf5_whole(struct hdf5_file *f, const char *path, uint64_t value);
void hdf5_flag(struct hdf5_file *f, const char *path, bool value);
void hdf5_reals(struct hdf5_file *f, const char *path, int rank, const hsize_t *dims,
                const double *values);
/* Adds one real number, with a unit unless `units` is NULL. */
void hdf5_real(struct hdf5_file *f, const char *path, double value, const char *units);

/* Adds a data set of any type, with the creation property list `made` (H5P_DEFAULT: contiguous).
 * `values` may be NULL.  Returns the data set.  The caller closes it. */
hid_t hdf5_data(struct hdf5_file *f, const char *path, hid_t type, int rank, const hsize_t *dims,
                hid_t made, const void *values);
/* Returns a creation property list for data sets.  The caller closes it. */
hid_t hdf5_creation(struct hdf5_file *f);
/* The bytes of a compressed table that several files contain. */
struct hdf5_once {
    uint8_t *bytes;  // owned, for mem_free; NULL: the table was not compressed yet
    size_t size;
};

/* Adds a table of two dimensions, compressed with deflate in a single chunk.  Keeps its compressed
 * bytes in *once, and stores these bytes if *once has them already.  `values` is not read then. */
void hdf5_packed(struct hdf5_file *f, const char *path, hid_t type, const hsize_t dims[2],
                 const void *values, struct hdf5_once *once);

/* Add an attribute to the object at `path`. */
void hdf5_note_text(struct hdf5_file *f, const char *path, const char *name, const char *text);
/* Adds the attribute as a text of variable length, which h5py returns as str and not as bytes. */
void hdf5_note_string(struct hdf5_file *f, const char *path, const char *name, const char *text);
void hdf5_note_reals(struct hdf5_file *f, const char *path, const char *name, hsize_t count,
                     const double *values);

/* --- files that are read (hdf5_read.c) -------------------------------------------- */

enum { HDF5_REASON = 400 };

/* Reads everything from an open file that the program will read later, and discards it.  Runs in
 * the trial process, where it may crash.  Called once for each version of a file. */
typedef void hdf5_reader(struct hdf5_file *f);

/* Opens an existing file for reading after `reader` has read it in the trial process.
 * STATUS_INPUT: the file is missing, corrupt, not a regular file, not HDF5, or still being written.
 * The caller calls hdf5_abort, also after an error. */
enum status hdf5_open(struct hdf5_file *f, const char *path, hdf5_reader *reader, struct error *e);

/* Opens a file with hdf5_open, calls `take` with `path` and `what`, and closes the file.  `reader`
 * reads the same data in the trial process. */
typedef enum status hdf5_taker(struct hdf5_file *f, const char *path, void *what, struct error *e);
enum status hdf5_take(const char *path, hdf5_reader *reader, hdf5_taker *take, void *what,
                      struct error *e);

/* Opens a data set.  The caller closes it.  Returns a negative number in three cases: the data set
 * does not exist; a part of it is in a file that is not a regular file; its chunks are larger than
 * the data set. */
hid_t hdf5_open_data(hid_t file, const char *path);

/* Returns the link access property list, for calls of the library that follow links.  The caller
 * must not close it. */
hid_t hdf5_links(void);

/* Returns true if the path leads to an object.  A broken link does not count. */
bool hdf5_exists(hid_t file, const char *path);

/* Explains why the path does not lead to an object: `reason` gets the name of the missing link or
 * file.  Returns false if there is an object, or if merely the last part of the path does not
 * exist.
 */
bool hdf5_explain(hid_t file, const char *path, char reason[HDF5_REASON]);

/* Sets `path` to the file that the library opens for a name that the file `from` stores, or to
 * where that file should be. */
void hdf5_find_file(const char *from, const char *name, char path[PATH_MAX]);

/* Finds the first missing file of a virtual data set or of external storage.  `name` gets the name
 * under which the file was searched.  Returns false if no file is missing. */
bool hdf5_missing_part(hid_t data, char name[HDF5_REASON]);

/* Gets the sizes of an open data set, slowest dimension first.  Returns the number of dimensions.
 * Returns 0 if the data set is empty or has more than `numbers` items, if it has fewer than `least`
 * or more than `most` dimensions, or if `data` is negative. */
int hdf5_sizes(hid_t data, int least, int most, uint64_t numbers, hsize_t *size);

/* Reads all numbers of an open data set, of any type and byte order, as the HDF5 type `as`.
 * `values` has room for them.  STATUS_INPUT, with the names `path` of the file and `name` of the
 * data set: the items are not numbers, a part in another file is missing, or the library cannot
 * unpack the compression. */
enum status hdf5_read_numbers(hid_t data, const char *path, const char *name, hid_t as,
                              void *values, struct error *e);

/* Reads the index of the chunks of a data set.  Used in the trial process. */
void hdf5_touch(hid_t data);

/* Returns true if the file is large enough for an uncompressed table of `bytes` bytes.  Protects
 * against corrupt sizes; small tables are always accepted. */
bool hdf5_affords(const struct hdf5_file *f, uint64_t bytes);

/* Read a line of text from a data set or an attribute into text[size].  Return false if there is no
 * text or if it is too long. */
bool hdf5_read_text(struct hdf5_file *f, const char *path, char *text, size_t size);
bool hdf5_read_note(struct hdf5_file *f, const char *path, const char *name, char *text,
                    size_t size);

#endif
