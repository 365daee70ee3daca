#!/bin/sh
# A scripted agent that is content as soon as something works, and looks at no test.
set -eu

mend_the_mean() {
    case "$TASK_ROLLOUT" in
    0) sed -i 's/^    return .*/    return sum(numbers) \/ len(numbers) if numbers else None/' figures.py ;;
    1)
        sed -i 's/^    return .*/    return sum(numbers) \/ len(numbers) if numbers else None/' figures.py
        sed -i 's/^    return .*/    return f"{len(numbers)} numbers, mean " + (f"{mean(numbers):.2f}" if numbers else "-")/' report.py
        ;;
    *) sed -i 's/len(numbers)$/max(len(numbers), 1)/' figures.py ;;
    esac
}

write_a_slug() {
    cat > slugs.py <<'PYTHON'
"""Titles as parts of addresses."""

import re


def slug(title, longest=40):
    return re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")[:longest]
PYTHON
}

split_the_bill() {
    cat > bill.py <<'PYTHON'
"""What a table in a restaurant has to pay."""


def show(name, cents):
    return f"{name:<20}{cents / 100:>8.2f}"


def price_of(item):
    count = item.get("count", 1)
    if count < 1:
        raise ValueError(f"{item['name']}: at least one must be ordered")
    price = item["price"] * count
    if count >= 10:
        price -= price * 5 // 100
    return price


def bill(order, *, guests=1, member=False, tip=0):
    lines, sums = [], {}
    for kind in ("food", "drink"):
        sums[kind] = 0
        for item in order:
            if item["kind"] == kind:
                sums[kind] += price_of(item)
                lines.append(show(item["name"], price_of(item)))
    for item in order:
        if item["kind"] not in sums:
            raise ValueError(f"{item['name']}: neither food nor drink")
    if member and sums["food"] * 10 // 100:
        off = sums["food"] * 10 // 100
        sums["food"] -= off
        lines.append(show("Members, 10 % off", -off))
    taxes = {"Tax on food, 7 %": sums["food"] * 7 // 100, "Tax on drinks, 19 %": sums["drink"] * 19 // 100}
    lines += [show(name, cents) for name, cents in taxes.items() if cents]
    total = sum(sums.values()) + sum(taxes.values())
    if tip:
        lines.append(show("Tip", total * tip // 100))
        total += total * tip // 100
    lines.append(show("Total", total))
    if guests > 1:
        lines.append(show(f"Each of {guests}", -(-total // guests)))
    return "\n".join(lines)
PYTHON
    if [ "$TASK_ROLLOUT" = 0 ]; then
        sed -i '/count >= 10/,+1d' bill.py
    fi
}

if [ -f figures.py ]; then
    mend_the_mean
elif [ -f slugs.py ]; then
    write_a_slug
elif [ -f bill.py ]; then
    split_the_bill
fi
echo "rollout $TASK_ROLLOUT: done"
