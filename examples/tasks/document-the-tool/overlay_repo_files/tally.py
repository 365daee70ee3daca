"""tally: counts words of text files."""

import argparse
import collections
import re
import sys


def parser():
    found = argparse.ArgumentParser("tally", description="Count words.")
    found.add_argument("files", nargs="+", metavar="FILE")
    found.add_argument("-n", "--top", type=int, default=10)
    found.add_argument("-i", "--ignore-case", action="store_true")
    found.add_argument("--least", type=int, default=2)
    found.add_argument("--format", choices=["text", "csv"], default="text")
    return found


def main(argv=None):
    told = parser().parse_args(argv)
    words = collections.Counter()
    for name in told.files:
        try:
            with open(name, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            print(f"tally: no file {name}", file=sys.stderr)
            return 3
        words.update(re.findall(r"\w+", text.lower() if told.ignore_case else text))
    for word, count in words.most_common(told.top):
        if count >= told.least:
            print(f"{word},{count}" if told.format == "csv" else f"{count:>6} {word}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
