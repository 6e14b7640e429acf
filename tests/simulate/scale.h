/* Large runs: what they cost the source. */
#ifndef BRAGG_SIMULATE_SCALE_H
#define BRAGG_SIMULATE_SCALE_H

/* Print a line for so many workers and last stages, or the table of all; 0 when the runs went as
 * they should, else 1. */
int scale_row(unsigned workers, unsigned sinks);
int scale_table(void);

#endif
