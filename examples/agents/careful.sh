#!/bin/sh
# A scripted agent that reads the whole instruction, and has one slip: in its third rollout it forgets an apostrophe.
set -eu

mend_the_mean() {
    cat > figures.py <<'PYTHON'
"""Small statistics."""


def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else None
PYTHON
    cat > report.py <<'PYTHON'
"""A line about some numbers."""

from figures import mean


def line(numbers):
    found = mean(numbers)
    return f"{len(numbers)} numbers, mean {'-' if found is None else format(found, '.2f')}"
PYTHON
}

write_a_slug() {
    cat > slugs.py <<'PYTHON'
"""Titles as parts of addresses."""

import re
import unicodedata

NOTHING = "untitled"


def slug(title, longest=40):
    """The title in small letters, digits and single hyphens, cut after a whole word where one fits."""
    joined = re.sub(r"(?<=\w)['\u2019](?=\w)", "", title.casefold())
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", joined) if not unicodedata.combining(sign))
    words = re.findall(r"[a-z0-9]+", plain) or [NOTHING]
    found = words[0][:longest]
    for word in words[1:]:
        if len(found) + 1 + len(word) > longest:
            break
        found += "-" + word
    return found
PYTHON
    if [ "$TASK_ROLLOUT" = 2 ]; then
        sed -i 's/\\u2019//' slugs.py
    fi
}

split_the_bill() {
    cat > bill.py <<'PYTHON'
"""What a table in a restaurant has to pay."""

MANY, OFF_FOR_MANY, OFF_FOR_MEMBERS = 10, 5, 10  # items of a kind; percent
FOOD_TAX, DRINKS_TAX = 7, 19  # percent


def bill(order, *, guests=1, member=False, tip=0):
    """The lines of a bill as text: food, drinks, discounts, tax, tip, and the share of each guest. Prices in cents."""
    lines = []
    food, drinks = _ordered(order, "food", lines), _ordered(order, "drink", lines)
    _need_known(order)
    if member:
        food += _added(lines, "Members, 10 % off", -(food * OFF_FOR_MEMBERS // 100))
    food += _added(lines, "Tax on food, 7 %", food * FOOD_TAX // 100)
    drinks += _added(lines, "Tax on drinks, 19 %", drinks * DRINKS_TAX // 100)
    total = food + drinks
    if tip:
        total += _line(lines, "Tip", total * tip // 100)
    _line(lines, "Total", total)
    if guests > 1:
        _line(lines, f"Each of {guests}", -(-total // guests))
    return "\n".join(lines)


def _ordered(order, kind, lines):
    """The price of all items of a kind, a line for each."""
    return sum(_line(lines, item["name"], _price(item)) for item in order if item["kind"] == kind)


def _price(item):
    count = item.get("count", 1)
    if count < 1:
        raise ValueError(f"{item['name']}: at least one must be ordered")
    price = item["price"] * count
    return price - price * OFF_FOR_MANY // 100 if count >= MANY else price


def _need_known(order):
    for item in order:
        if item["kind"] not in ("food", "drink"):
            raise ValueError(f"{item['name']}: neither food nor drink")


def _added(lines, name, cents):
    """A line that is left out where it is about nothing."""
    return _line(lines, name, cents) if cents else 0


def _line(lines, name, cents):
    lines.append(f"{name:<20}{cents / 100:>8.2f}")
    return cents
PYTHON
}

echo "rollout $TASK_ROLLOUT: looking at $(ls | tr '\n' ' ')"
if [ -f figures.py ]; then
    mend_the_mean
elif [ -f slugs.py ]; then
    write_a_slug
elif [ -f bill.py ]; then
    split_the_bill
fi
for each in test_*.py; do
    if [ -f "$each" ]; then
        python3 -m unittest "$each"
    fi
done
