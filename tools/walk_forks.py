"""Every way in which two equal models can be made "better" by trying often, walked against proctor as it is.

`make forks`. Each path is walked many times with seeds of its own, in a store of its own, by the functions that the
command line and the server call. Beside stands in the same exams how often McNemar alone says "better", and how often
proctor does without a word of what was tried. The table goes into docs/calibration.md.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from calibrate_draws import Random
from calibrate_page import FORKS, replaced
from forks_made import Asked, asked
from forks_paths import PATHS, Path_, Verdicts
