"""Calls with a mistake each, which mypy --strict reports: an error in each line after the import.  It is never run."""
import braggpipe
braggpipe.simulate(randon=True)
braggpipe.simulate(shape="gaus")
braggpipe.simulate(random=3.5)
braggpipe.simulate(noise={"sed": 3})
braggpipe.Dataset(10, randon=True)
braggpipe.Model("rot", detpixel=3)
braggpipe.Dataset(10, only=3)
