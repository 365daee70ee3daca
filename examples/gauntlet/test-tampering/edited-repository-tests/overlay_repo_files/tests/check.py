import sys

sys.path.insert(0, '/app/repo')
from figures import double

assert double(4) == 8
