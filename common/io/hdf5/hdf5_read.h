/*
 * HDF5 files to read, whoever wrote them.  All of them are opened here: first in a trial process,
 * for the library crashes on damaged files.  Only ordinary files are opened, also where links,
 * virtual data sets and external storage lead.  For the files of this folder.
 */
#ifndef BRAGG_IO_HDF5_READ_H
#define BRAGG_IO_HDF5_READ_H

#include "io/hdf5/hdf5_file.h"

enum { HDF5_REASON = 400 };

/* Reads all that the program is going to read of a file that is open, and drops it; in the trial
 * process, where it may crash.  Called once for each version of a file. */
typedef void hdf5_reader(struct hdf5_file *f);

/* Opens an existing file to read, once its trial by `reader` went well.  STATUS_INPUT for a file
 * that is missing, damaged, no ordinary file, no HDF5, or still being written.
 * Followed by hdf5_abort, also after an error. */
enum status hdf5_open(struct hdf5_file *f, const char *path, hdf5_reader *reader, struct error *e);

/* Reads a file whole: hdf5_open, then `take` with `path` and `what`, then the file is closed.
 * `reader` does the same in the trial. */
typedef enum status hdf5_taker(struct hdf5_file *f, const char *path, void *what, struct error *e);
enum status hdf5_take(const char *path, hdf5_reader *reader, hdf5_taker *take, void *what,
                      struct error *e);

/* Opens a data set for the caller to close; a negative number if there is none, if its parts in
 * other files are no ordinary files, or if its chunks are too large for it. */
hid_t hdf5_open_data(hid_t file, const char *path);

/* How links are followed, for calls of the library that take such a list.  Not to be closed. */
hid_t hdf5_links(void);

/* Whether an object is at the path, by links that lead somewhere. */
bool hdf5_exists(hid_t file, const char *path);

/* Why nothing is at the path: says which link or file is missing.  False when there is something,
 * or when the last part of the path is just not there. */
bool hdf5_explain(hid_t file, const char *path, char reason[HDF5_REASON]);

/* The first file of a virtual data set (or external storage) that is missing, by the name of the
 * file that was looked for; false when there are all, or the data set has none. */
bool hdf5_missing_part(hid_t data, char name[HDF5_REASON]);

/* The dimensions of an open data set of at least one and at most so many numbers, as many as there
 * are from size[0] on; 0 where it has fewer dimensions than `least`, or more than `most`, or where
 * `data` is negative. */
int hdf5_sizes(hid_t data, int least, int most, uint64_t numbers, hsize_t *size);

/* Reads all numbers of an open data set, of whatever type and byte order, as the type `as` of the
 * library; `values` has room for them.  STATUS_INPUT, with the names of file and data set in the
 * text, for what is no number, for a part in another file that is missing, and for packings that
 * the library cannot unpack by itself. */
enum status hdf5_read_numbers(hid_t data, const char *path, const char *name, hid_t as,
                              void *values, struct error *e);

/* Visits all that says where the chunks of a data set are. */
void hdf5_touch(hid_t data);

/* Whether a table of so many bytes can be in the file, which is not packed. */
bool hdf5_affords(const struct hdf5_file *f, uint64_t bytes);

/* Reads a line of text, of a data set or an attribute, into text[size]; false when there is none or
 * it is too long. */
bool hdf5_read_text(struct hdf5_file *f, const char *path, char *text, size_t size);
bool hdf5_read_note(struct hdf5_file *f, const char *path, const char *name, char *text,
                    size_t size);

#endif
