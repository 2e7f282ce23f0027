"""Writes all golden files. Needs numpy (2.4.6 made those in the tree): python3 -m pip install numpy==2.4.6."""

import attention
import movement
import norms
import pointwise
import reduction

for family in (attention, movement, norms, pointwise, reduction):
    family.make()
