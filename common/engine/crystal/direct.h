/* The direct vectors of a crystal as rows a, b, c: what cell they make, and how they turn. */
#ifndef BRAGG_ENGINE_DIRECT_H
#define BRAGG_ENGINE_DIRECT_H

/* Rows for a cell of edges (in any unit) and angles in rad, in the frame with c along z and b in
 * the yz plane [3.1], and their derivatives by the six. */
void direct_rows(const double cell[6], double rows[9], double by[6][9]);

/* direct = rows of direct_rows(cell) times `turn`, the crystal's setting. */
void direct_split(const double direct[9], double cell[6], double turn[9]);

/* The rotation vector, rad, of a rotation matrix (row-major), and the other way. */
void rotation_vector(const double m[9], double out[3]);
void rotation_matrix(const double vector[3], double m[9]);

#endif
