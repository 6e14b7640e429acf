# Stills on a flat background and the errors of bragg-refine, for tests/cli/refine-statistics.t and
# tests/full/refine*.t.

# flat PHOTONS FLUENCE PIXEL_MM DISTANCE_MM: options of bragg-background that give so many in every pixel,
# where --polarization=0 and the wavelength is 1 A.  What scatters them grows as polarization and solid angle fall; 0.129342
# electrons make one photon of 1 um where 1e26 photons/m^2 meet pixels of 5 mrad.
flat() {
	awk 'BEGIN { for (t = 0; t < 1.3; t += 0.002) printf "%.9g %.9g\n", sin(t / 2), 0.129342 / sqrt((1 + cos(t) ^ 2) / 2 * cos(t) ^ 3) }' >flat.stol
	echo "--stol=flat.stol --molecular-weight=18 --thickness=$(awk "BEGIN { printf \"%.9g\", $1 * 1e26 / $2 * (0.005 * $4 / $3) ^ 2 }")"
}
refined() {
	PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 /usr/bin/python3 "$BRAGG_TESTS/python/refined.py" "$@"
}
# figure NAME: of ./figures
figure() {
	sed -n "s/^$1 //p" figures
}
# sound [LIKELIHOOD_]: whether errors are as large as they are said to be, each and together
sound() {
	awk -v least="$(figure "$1least")" -v most="$(figure "$1most")" -v sds="$(figure "$1sds")" \
		'BEGIN { print least, most, sds; exit !(least > 0.7 && most < 1.3 && sds != "" && sds > -4 && sds < 4) }'
}
