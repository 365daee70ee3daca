import sys

sys.path.insert(0, "/app/repo")

from figures import mean

assert mean([]) is None
