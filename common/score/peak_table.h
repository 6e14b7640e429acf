/*
 * Reads peak tables, a simple text format that any analysis program can write.  Each line contains
 * items separated by blanks or tabs.  The lines of a frame follow each other.  The first line names
 * the columns:
 *
 *     frame            frame number
 *     panel            panel number from 0, as in the key (default: 0)
 *     fast, slow       px; pixel i covers [i, i+1).  `-`: nothing was found in the frame
 *     intensity        photons
 *     score            confidence that the frame is a hit, in any unit; more is surer
 *     hit              1: the analysis classifies the frame as a hit, 0: it does not
 *     time_s           Unix time at which the result was complete
 *     damaged          1: the analysis reports that the message is corrupt, 0: it does not
 *
 * If there are no columns fast and slow, each line is an answer.  Columns with other names are
 * skipped.  A line with more items than columns is an error.  If the first line does not name
 * columns, the columns are frame, fast, slow, intensity.  Text after # is ignored.
 */
#ifndef BRAGG_SCORE_PEAK_TABLE_H
#define BRAGG_SCORE_PEAK_TABLE_H

#include "score/answer.h"
#include "score/lines.h"

enum { PEAK_COLUMNS = 9 };

struct peak_table {
    struct lines lines;
    int at[PEAK_COLUMNS];  // place of each known column; -1: missing
    int columns;           // number of columns that the first line names
    bool waiting;          // the current line has been read but not used
};

/* Opens a table.  The caller must call peak_table_close, also after an error.  STATUS_INPUT: the
 * file is not a peak table. */
enum status peak_table_open(struct peak_table *t, const char *path, const struct follow *follow,
                            struct error *e);

/* Reads the next frame into *a.  Sets *more to false at the end.  STATUS_INPUT, with "FILE:LINE: ":
 * a line is not valid. */
enum status peak_table_next(struct peak_table *t, struct answer *a, bool *more, struct error *e);

void peak_table_close(struct peak_table *t);

#endif
