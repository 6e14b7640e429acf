/*
 * Reads HDF5 files of any program.  All HDF5 files are opened here: first in a trial process,
 * because the library crashes on corrupt files.  Only regular files are opened.  This also holds
 * for files that links, virtual data sets and external storage refer to.
 */
#ifndef BRAGG_IO_HDF5_READ_H
#define BRAGG_IO_HDF5_READ_H

#include "io/hdf5/hdf5_file.h"

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

/* Opens a data set.  The caller closes it.  Returns a negative number if there is no such data set,
 * if parts of it are in files that are not regular files, or if its chunks are too large for it. */
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
