import re
import unittest

from pages import MANUAL, section


class Codes(unittest.TestCase):
    def test_the_codes_are_those_of_the_program(self):
        told = section(MANUAL, "Exit codes")
        codes = {int(each) for each in re.findall(r"(?<![\w.])\d+(?![\w.]\d)", told)}
        self.assertEqual(codes, {0, 2, 3})

    def test_a_missing_file_is_what_ends_with_3(self):
        lines = [line for line in section(MANUAL, "Exit codes").splitlines() if re.search(r"(?<!\d)3(?!\d)", line)]
        self.assertRegex(" ".join(lines).lower(), r"file")


if __name__ == "__main__":
    unittest.main()
