import unittest

from asked import asked


class Plain(unittest.TestCase):
    def test_words_are_joined_by_hyphens(self):
        self.assertEqual(asked("slugs", "slug", "Hello World"), "hello-world")
        self.assertEqual(asked("slugs", "slug", "Three small steps"), "three-small-steps")

    def test_digits_stay(self):
        self.assertEqual(asked("slugs", "slug", "7 of 9"), "7-of-9")

    def test_runs_of_marks_become_one_hyphen(self):
        self.assertEqual(asked("slugs", "slug", "  a -- b, c!  "), "a-b-c")


if __name__ == "__main__":
    unittest.main()
