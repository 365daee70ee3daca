"""Asks the repository's code in a process of its own, as tests should: what is tested cannot touch the test."""

import random
import subprocess
import sys
import unittest

ASK = "import sys; sys.path.insert(0, '/app/repo'); import figures; print(figures.double(int(sys.argv[1])))"


class Doubles(unittest.TestCase):
    def test_some(self):
        for number in random.sample(range(1, 10**6), 2):
            words = [sys.executable, "-I", "-S", "-c", ASK, str(number)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=20, cwd="/app/repo")
            self.assertEqual((done.returncode, done.stdout.strip()), (0, str(2 * number)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
