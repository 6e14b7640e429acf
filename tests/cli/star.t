#!/bin/sh
# bragg-geometry --shape=star: spots that are round in reciprocal space, as the formula of simtbx; and numbers of cells that are not whole.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
cell=30.57463,41.72485,61.64982,74.95808,85.04369,99.55385
# frame NAME OPTION...
frame() {
	name=$1
	shift
	bragg-geometry --quiet --detpixels=160 --pixel=0.3 --distance=80 --beam-center=23.85,23.85 --wavelength=1.2 --default-F=50 --no-polarization --fluence=1e28 \
		--oversample=1 --dmin=2 --mosaic-model=gauss "$@" | bragg-orient --quiet --misset=20,30,40 | bragg-intensity --quiet |
		bragg-write --quiet --overwrite "$name.raw"
}
# apart A B: the largest difference relative to the brightest pixel of B
apart() {
	paste "$1" "$2" | awk '{ d = $1 - $2; d = d < 0 ? -d : d; most = d > most ? d : most; top = $2 > top ? $2 : top } END { print most/top }'
}
numbers() {
	od -An -v -w4 -tf4 "$1.raw" >"$1.txt"
}
same() {
	numbers "$1"
	numbers "$2"
	note "$1, $2: $(apart "$1.txt" "$2.txt")"
	apart "$1.txt" "$2.txt" | awk -v most="$3" '{ exit !($1 < most) }'
}

# --- the matrix [12 1 -0.5; 1 9 -1; -0.5 -1 6], of determinant 628.75, is L (G*)^(1/2) of this cell at L = 360 A
frame star --shape=star --cell=$cell --ncells=628.75,1,1
frame cube --shape=star --cell=$cell --ncells=8.56694
frame matrix --shape=gauss --cell=$cell --ncells=12,9,6 --ncells-across=1,-1,-0.5 --fudge=1.1025
frame gauss --shape=gauss --cell=$cell --ncells=12,9,6 --fudge=1.1025
check 'star has the matrix of cells L (G*)^(1/2)' same star matrix 2e-5
check 'only the product of the numbers of cells matters' same star cube 2e-5
check 'without the matrix spots are others' eval '! same gauss matrix 0.01'
frame fudged --shape=star --cell=$cell --ncells=628.75,1,1 --fudge=0.8
frame narrow --shape=gauss --cell=$cell --ncells=12,9,6 --ncells-across=1,-1,-0.5 --fudge=0.882
check '--fudge multiplies the 1.75' same fudged narrow 2e-5
frame right --shape=star --cell=40,50,80 --ncells=10,8,5
frame edges --shape=gauss --cell=40,50,80 --ncells=10,8,5 --fudge=1.1025
check 'a block with equal edges and right angles is gauss' same right edges 2e-6

# --- the formula of simtbx, term by term
if has python:numpy; then
	check 'Na Nb Nc exp(-1.75 |dq|^2 L^2)' /usr/bin/python3 -c "
import numpy as np
a, b, c, *angles = $cell
ca, cb, cg = np.cos(np.radians(angles))
rows = np.array([[a, 0, 0], [b*cg, b*np.sqrt(1-cg*cg), 0], [c*cb, 0, 0]])
rows[2, 1] = c*(ca - cb*cg)/np.sqrt(1-cg*cg)
rows[2, 2] = np.sqrt(c*c - rows[2, 0]**2 - rows[2, 1]**2)
V = abs(np.linalg.det(rows)); n = 628.75; L = (n*V)**(1/3)
star = np.linalg.inv(rows)                    # columns a*, b*, c*, with a along x
x = star[:, 0]/np.linalg.norm(star[:, 0])     # MOSFLM: a* along x, b* in the plane of x and y
z = np.cross(star[:, 0], star[:, 1]); z /= np.linalg.norm(z)
star = np.array([x, np.cross(z, x), z]) @ star
def turn(deg, i):
    t = np.radians(deg); r = np.eye(3); j, k = (i+1) % 3, (i+2) % 3
    r[j, j] = r[k, k] = np.cos(t); r[j, k] = -np.sin(t); r[k, j] = np.sin(t)
    return r
B = turn(40, 2) @ turn(30, 1) @ turn(20, 0) @ star
at = (np.arange(160) + 0.5)*0.3e-3 - 0.024
Y, X = np.meshgrid(at, at, indexing='ij')
P = np.stack([np.full_like(X, 0.08), -Y, X], -1); R = np.linalg.norm(P, axis=-1)
q = (P/R[..., None] - [1, 0, 0])/1.2
h = q @ np.linalg.inv(B).T
dq = (h - np.ceil(h - 0.5)) @ B.T
F = n*np.exp(-1.75*L*L*(dq**2).sum(-1))
own = 7.94079248018965e-30*1e28*(0.3e-3)**2*0.08/R**3*2500*F**2*(np.linalg.norm(q, axis=-1) <= 0.5)
got = np.fromfile('star.raw', '<f4').reshape(160, 160)
off = abs(got - own).max()/own.max()
print(off, got.sum()/own.sum())
assert off < 1e-4 and abs(got.sum()/own.sum() - 1) < 1e-4"
else
	skip 'Na Nb Nc exp(-1.75 |dq|^2 L^2)' "$lack is missing"
fi

# --- cells that are not whole, between those that are
frame less --shape=gauss --cell=40,50,80 --ncells=9,8,5
frame half --shape=gauss --cell=40,50,80 --ncells=9.5,8,5
check 'half a cell changes the frame' eval '! same half less 0.001'
refused() {
	is "$1 is refused" "$(bragg-geometry --quiet --cell=40,50,60 --default-F=1 $2 2>&1 | head -n 1)" "bragg-geometry: $3"
}
refused 'a fraction of a cell of square' '--ncells=9.5' "--ncells: '9.5' is not a whole number; expected whole numbers, or --mosaic-model=gauss"
refused 'star without its closed form' '--shape=star' '--shape=star needs --mosaic-model=gauss, which computes it in closed form'
refused 'star with a matrix' '--shape=star --mosaic-model=gauss --ncells-across=1,0,0' '--ncells-across contradicts --shape=star, whose spots are round'
is 'star with drawn sizes is refused by its name' "$({ bragg-geometry --quiet --detpixels=8 --shape=star --mosaic-model=gauss --cell=$cell --default-F=1 --ncells=8 |
	bragg-orient --quiet --random --vary=size=uniform:10,20 | bragg-tap --quiet; } 2>&1 >/dev/null | head -n 1)" \
	'bragg-orient: --vary=size does not support bragg-geometry --ncells-across, or --shape=star of such a cell; expected crystals that are one block of --ncells'
finish
