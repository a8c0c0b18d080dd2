"""A small shop of 600 lines with one wrong line and a test that fails for it: a project for a real model to work in."""

from __future__ import annotations

from pathlib import Path

GOODS = "tea rice miso soap ink paper lamp towel cup kettle broom chair tray brush basket bowl comb".split()

HEAD = '''\
"""Prices, stock and orders of a small shop. All prices are in yen, all weights in grams."""

TAX_PERCENT = 10
POINT_UNIT = 110
GIFT_WRAP_FEE = 330
RETURN_DAYS = 17
FREE_SHIPPING_FROM = 4800
SHIPPING_BASE = 520
SHIPPING_PER_KILO = 90
MAX_ITEMS_PER_ORDER = 24
'''

ARTICLE = '''

{NAME}_PRICE = {price}
{NAME}_WEIGHT = {weight}
{NAME}_SHELF = "{shelf}"


def {name}_price(count):
    """The price of so many pieces of {name}, without tax."""
    if count < 0:
        raise ValueError("count of {name} must not be negative")
    if count >= {many}:
        return count * ({NAME}_PRICE - {less})
    return count * {NAME}_PRICE


def {name}_weight(count, boxed=False):
    """The weight of so many pieces of {name}; a box is added for each {box} of them."""
    weight = count * {NAME}_WEIGHT
    if boxed:
        boxes = (count + {box} - 1) // {box}
        weight = weight + boxes * {carton}
    return weight


def {name}_label(count):
    """The line that is printed for {name} on the receipt."""
    name = "{name}".ljust(12)
    price = str({name}_price(count)).rjust(8)
    return name + str(count).rjust(4) + price + "  shelf " + {NAME}_SHELF
'''

MIDDLE = '''

def with_tax(price):
    """The price with tax, rounded down."""
    return price + price * TAX_PERCENT // 100


def discounted(total, percent):
    """The total after a discount of so many percent."""
    if not 0 <= percent <= 100:
        raise ValueError("percent must be between 0 and 100")
    return total + total * percent // 100


def shipping_fee(total, weight):
    """What is asked for sending a parcel."""
    if total >= FREE_SHIPPING_FROM:
        return 0
    kilos = (weight + 999) // 1000
    return SHIPPING_BASE + kilos * SHIPPING_PER_KILO


def points_for(total):
    """Points a customer gets for a total."""
    return total // POINT_UNIT


def is_returnable(days_since_purchase, opened):
    """Whether the shop takes an article back."""
    if opened:
        return False
    return days_since_purchase <= RETURN_DAYS


def gift_wrapped(total, pieces):
    """The total with the fee for wrapping; up to three pieces go into one parcel."""
    parcels = (pieces + 2) // 3
    return total + parcels * GIFT_WRAP_FEE
'''

WRONG, RIGHT = "return total + total * percent // 100", "return total - total * percent // 100"

TEST = """\
import unittest

import shop


class ShopTest(unittest.TestCase):
    def test_tax(self):
        self.assertEqual(shop.with_tax(1000), 1100)

    def test_discount(self):
        self.assertEqual(shop.discounted(1000, 20), 800)

    def test_points(self):
        self.assertEqual(shop.points_for(1100), 10)

    def test_gift(self):
        self.assertEqual(shop.gift_wrapped(1000, 4), 1660)

    def test_tea(self):
        self.assertEqual(shop.tea_price(2), 2 * shop.TEA_PRICE)


if __name__ == "__main__":
    unittest.main()
"""


def source() -> str:
    made = [_article(number, name) for number, name in enumerate(GOODS)]
    return HEAD + "".join(made[:9]) + MIDDLE + "".join(made[9:]) + "\n\n" + ORDERS.lstrip("\n")


def build(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "shop.py").write_text(source())
    (folder / "test_shop.py").write_text(TEST)


def _article(number: int, name: str) -> str:
    return ARTICLE.format(
        name=name,
        NAME=name.upper(),
        price=180 + number * 70,
        weight=90 + number * 35,
        shelf=f"{chr(65 + number % 5)}{number + 1}",
        many=6 + number % 4,
        less=10 + number,
        box=4 + number % 3,
        carton=60 + number * 5,
    )


ORDERS = '''

def order_lines(order):
    """The receipt of an order, which is a dict of counts by name."""
    lines = []
    for name in sorted(order):
        label = globals()[name + "_label"]
        lines.append(label(order[name]))
    return lines


def order_total(order):
    """The price of an order, without tax and shipping."""
    total = 0
    for name in order:
        price = globals()[name + "_price"]
        total = total + price(order[name])
    return total


def order_weight(order, boxed=False):
    """The weight of an order."""
    weight = 0
    for name in order:
        weigh = globals()[name + "_weight"]
        weight = weight + weigh(order[name], boxed)
    return weight


def check_order(order):
    """Raises ValueError for an order that cannot be taken."""
    pieces = sum(order.values())
    if pieces == 0:
        raise ValueError("the order is empty")
    if pieces > MAX_ITEMS_PER_ORDER:
        raise ValueError("the order has too many pieces")
'''
