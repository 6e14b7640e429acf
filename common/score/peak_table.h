/*
 * Peak tables, what a program of anybody's writes: lines of items parted by blanks or tabs, those
 * of a frame one behind the other.  The first line names the columns:
 *
 *     frame            its number
 *     panel            number from 0, as in the key (0)
 *     fast, slow       px; pixel i covers [i, i+1).  `-`: nothing was found in the frame
 *     intensity        photons
 *     score            how sure it is that the frame is a hit, in any unit; more is surer
 *     hit              1: the analysis takes the frame for one, 0: it does not
 *     time_s           when the result was there, Unix time
 *     damaged          1: the analysis says that what it got of the frame is damaged, 0: it is not
 *
 * Without fast and slow each line is an answer.  Columns of other names are skipped; a line with
 * more items than columns is refused.  Without such a line the columns are frame, fast, slow,
 * intensity.  Text behind # is skipped.
 */
#ifndef BRAGG_SCORE_PEAK_TABLE_H
#define BRAGG_SCORE_PEAK_TABLE_H

#include "score/answer.h"
#include "score/lines.h"

enum { PEAK_COLUMNS = 9 };

struct peak_table {
    struct lines lines;
    int at[PEAK_COLUMNS];  // place of each known column, -1: not there
    int columns;           // that the first line names
    bool waiting;          // the line is read, and not yet taken
};

/* STATUS_INPUT for what is no such table.  peak_table_close frees *t, also after an error. */
enum status peak_table_open(struct peak_table *t, const char *path, const struct follow *follow,
                            struct error *e);

/* Reads the next frame into *a; *more is false at the end.  STATUS_INPUT with "FILE:LINE: ". */
enum status peak_table_next(struct peak_table *t, struct answer *a, bool *more, struct error *e);

void peak_table_close(struct peak_table *t);

#endif
