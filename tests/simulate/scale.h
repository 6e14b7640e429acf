/* Large runs, and the CPU time that they cost the source. */
#ifndef BRAGG_SIMULATE_SCALE_H
#define BRAGG_SIMULATE_SCALE_H

/* Print a row for these numbers of workers and sinks, or the table of all rows.  Return 0 if no
 * rule was violated, otherwise 1. */
int scale_row(unsigned workers, unsigned sinks);
int scale_table(void);

#endif
