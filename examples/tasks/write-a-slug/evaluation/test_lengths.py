import unittest

from asked import slugs_of


class Lengths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cut, cls.fits, cls.inside, cls.usual, cls.empty, cls.marks = slugs_of(
            ["one two three", 9],
            ["one two three", 7],
            ["incomprehensible", 6],
            ["word " * 30],
            [""],
            [" ... "],
        )

    def test_it_is_cut_after_a_whole_word(self):
        self.assertEqual([self.cut, self.fits], ["one-two", "one-two"])

    def test_a_first_word_that_is_too_long_is_cut_inside(self):
        self.assertEqual(self.inside, "incomp")

    def test_forty_is_the_usual_length(self):
        self.assertEqual(self.usual, "-".join(["word"] * 8))

    def test_nothing_is_untitled(self):
        self.assertEqual([self.empty, self.marks], ["untitled", "untitled"])


if __name__ == "__main__":
    unittest.main()
