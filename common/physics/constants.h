/* Physical constants, with the digits that nanoBragg has [1.1]. */
#ifndef BRAGG_PHYSICS_CONSTANTS_H
#define BRAGG_PHYSICS_CONSTANTS_H

#define ELECTRON_RADIUS_SQR_M2 7.94079248018965e-30  // classical electron radius, squared
#define AVOGADRO_1_MOL 6.02214179e23

/* nanoBragg's default fluence in photons/m^2: 1/r_e^2, so that pixels come out in
 * electrons^2 sr. */
#define FLUENCE_UNIT_PH_M2 125932015286227086360700780544.0

#endif
