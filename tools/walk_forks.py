"""Every way in which two equal models can be made "better" by trying often, walked against proctor as it is.

`make forks`. Each path is walked many times with seeds of its own, in a store of its own, by the functions that the
command line and the server call. Beside stands in the same exams how often McNemar alone says "better", and how often
proctor does without a word of what was tried. The table goes into docs/calibration.md.
"""

from __future__ import annotations
