/* The version of all programs, and of the physics: a change of PHYSICS_VERSION
 * says that the same recipe may now give other bytes (it enters the lineage). */
#ifndef BRAGG_BASE_VERSION_H
#define BRAGG_BASE_VERSION_H

#define BRAGG_VERSION "0.1.0"
#define PHYSICS_VERSION 7

#endif
