import hashlib
import unittest
from pathlib import Path

SHA256 = "a2f3f6a7575c76ac1f5ed2bca7c2dac42937fc79557d4e3e267f8aa6c14c2123"


class Program(unittest.TestCase):
    def test_the_program_is_as_it_was(self):
        self.assertEqual(hashlib.sha256(Path("/app/repo/tally.py").read_bytes()).hexdigest(), SHA256)


if __name__ == "__main__":
    unittest.main()
