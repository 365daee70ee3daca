"""What a table in a restaurant has to pay."""


def bill(order, *, guests=1, member=False, tip=0):
    """The lines of a bill as text: food, drinks, discounts, tax, tip, and the share of each guest. Prices in cents."""
    lines = []
    food = 0
    for item in order:
        if item["kind"] == "food":
            if item.get("count", 1) < 1:
                raise ValueError(f"{item['name']}: at least one must be ordered")
            price = item["price"] * item.get("count", 1)
            if item.get("count", 1) >= 10:
                price = price - price * 5 // 100
            food = food + price
            lines.append(f"{item['name']:<20}{price / 100:>8.2f}")
    drinks = 0
    for item in order:
        if item["kind"] == "drink":
            if item.get("count", 1) < 1:
                raise ValueError(f"{item['name']}: at least one must be ordered")
            price = item["price"] * item.get("count", 1)
            if item.get("count", 1) >= 10:
                price = price - price * 5 // 100
            drinks = drinks + price
            lines.append(f"{item['name']:<20}{price / 100:>8.2f}")
    for item in order:
        if item["kind"] != "food" and item["kind"] != "drink":
            raise ValueError(f"{item['name']}: neither food nor drink")
    if member:
        off = food * 10 // 100
        food = food - off
        if off:
            lines.append(f"{'Members, 10 % off':<20}{-off / 100:>8.2f}")
    food_tax = food * 7 // 100
    if food_tax:
        lines.append(f"{'Tax on food, 7 %':<20}{food_tax / 100:>8.2f}")
    drinks_tax = drinks * 19 // 100
    if drinks_tax:
        lines.append(f"{'Tax on drinks, 19 %':<20}{drinks_tax / 100:>8.2f}")
    total = food + drinks + food_tax + drinks_tax
    if tip:
        given = total * tip // 100
        total = total + given
        lines.append(f"{'Tip':<20}{given / 100:>8.2f}")
    lines.append(f"{'Total':<20}{total / 100:>8.2f}")
    if guests > 1:
        share = -(-total // guests)
        lines.append(f"{'Each of ' + str(guests):<20}{share / 100:>8.2f}")
    return "\n".join(lines)
