#!/usr/bin/python3
"""Draws a measured image next to its models before and after refinement.

    residual.py COUNTS.rec START.rec REFINED.rec PICTURE.png

The picture shows counts, starting model, refined model and residual.  See braggpipe.residual and
braggpipe-refine(7).
"""
import braggpipe.residual

braggpipe.residual.main()
