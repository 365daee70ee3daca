import shlex
import subprocess
import sys
import unittest

from pages import MANUAL, REPO, blocks


class Examples(unittest.TestCase):
    def test_every_example_runs(self):
        lines = [line.strip().removeprefix("$ ") for block in blocks(MANUAL) for line in block.splitlines()]
        commands = [line for line in lines if line.startswith("python3 tally.py")]
        self.assertTrue(commands, "no example begins with python3 tally.py")
        for command in commands:
            with self.subTest(command=command):
                words = shlex.split(command, comments=True)
                done = subprocess.run([sys.executable, *words[1:]], cwd=REPO, capture_output=True, timeout=20)
                self.assertEqual(done.returncode, 0, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
