import unittest

from asked import asked


class Accents(unittest.TestCase):
    def test_accents_go(self):
        self.assertEqual(asked("slugs", "slug", "Crème brûlée à Zürich"), "creme-brulee-a-zurich")

    def test_accents_go_however_they_are_composed(self):
        self.assertEqual(asked("slugs", "slug", "Cafe\u0301"), "cafe")

    def test_a_sharp_s_becomes_two(self):
        self.assertEqual(asked("slugs", "slug", "Große Straße"), "grosse-strasse")

    def test_an_apostrophe_inside_a_word_leaves_no_hyphen(self):
        self.assertEqual(asked("slugs", "slug", "It's Anna's"), "its-annas")
        self.assertEqual(asked("slugs", "slug", "It\u2019s fine"), "its-fine")

    def test_other_letters_are_no_letters_of_a_slug(self):
        self.assertEqual(asked("slugs", "slug", "tea \u8336 time"), "tea-time")


if __name__ == "__main__":
    unittest.main()
