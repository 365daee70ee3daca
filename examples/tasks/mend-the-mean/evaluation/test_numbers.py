import sys

sys.path.insert(0, "/app/repo")

from figures import mean

assert mean([1, 2, 6]) == 3
assert mean([4]) == 4
