import unittest

from asked import asked


class Lengths(unittest.TestCase):
    def test_it_is_cut_after_a_whole_word(self):
        self.assertEqual(asked("slugs", "slug", "one two three", 9), "one-two")
        self.assertEqual(asked("slugs", "slug", "one two three", 7), "one-two")

    def test_a_first_word_that_is_too_long_is_cut_inside(self):
        self.assertEqual(asked("slugs", "slug", "incomprehensible", 6), "incomp")

    def test_forty_is_the_usual_length(self):
        found = asked("slugs", "slug", "word " * 30)
        self.assertEqual(found, "-".join(["word"] * 8))

    def test_nothing_is_untitled(self):
        self.assertEqual(asked("slugs", "slug", ""), "untitled")
        self.assertEqual(asked("slugs", "slug", " ... "), "untitled")


if __name__ == "__main__":
    unittest.main()
