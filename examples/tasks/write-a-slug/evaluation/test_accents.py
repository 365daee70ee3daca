import unittest

from asked import slugs_of

# Accents go however they are composed, a sharp s becomes two, an apostrophe inside a word leaves no hyphen, and other
# letters are no letters of a slug.
CASES = {
    "Crème brûlée à Zürich": "creme-brulee-a-zurich",
    "Cafe\u0301": "cafe",
    "Große Straße": "grosse-strasse",
    "It's Anna's": "its-annas",
    "It\u2019s fine": "its-fine",
    "tea \u8336 time": "tea-time",
}


class Accents(unittest.TestCase):
    def test_accents_apostrophes_and_other_letters_do_as_they_should(self):
        self.assertEqual(dict(zip(CASES, slugs_of(*([title] for title in CASES)))), CASES)


if __name__ == "__main__":
    unittest.main()
