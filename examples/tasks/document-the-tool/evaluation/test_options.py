import re
import unittest

from pages import MANUAL, rows, section

# Long name -> short name, default.
OPTIONS = {"--top": ("-n", "10"), "--ignore-case": ("-i", None), "--least": (None, "2"), "--format": (None, "text")}


class Options(unittest.TestCase):
    def setUp(self):
        self.rows = rows(section(MANUAL, "Options"))

    def row(self, option):
        found = [" | ".join(cells) for cells in self.rows if re.search(rf"{option}\b", " ".join(cells[:2]))]
        self.assertEqual(len(found), 1, f"rows of {option}")
        return found[0]

    def test_every_option_has_a_row_with_its_short_name_and_default(self):
        for option, (short, default) in OPTIONS.items():
            with self.subTest(option=option):
                row = self.row(option)
                if short:
                    self.assertRegex(row, rf"(?<![\w-]){short}\b")
                if default:
                    self.assertRegex(row, rf"\b{default}\b")

    def test_both_formats_are_named(self):
        self.assertRegex(self.row("--format"), r"\bcsv\b")

    def test_no_option_is_made_up(self):
        named = set(re.findall(r"--[a-z][a-z-]+", section(MANUAL, "Options")))
        self.assertLessEqual(named, {*OPTIONS, "--help"})


if __name__ == "__main__":
    unittest.main()
