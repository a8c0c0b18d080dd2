"""A shop of six small files and a long log, in which a real model has to find its way; one function is wrong."""

from __future__ import annotations

from tests.models.task_project import Task, TaskProject, passes, says

WRONG, RIGHT = "return total + total * rate // 100", "return total - total * rate // 100"

FILES = {
    "README.md": "# A small shop\n\nPrices in yen. `python3 test_money.py` and `python3 test_cart.py` are the tests.\n",
    "money.py": f'''\
"""Sums of money, in yen."""

TAX = 10


def with_tax(total):
    """The total with tax, rounded down."""
    return total + total * TAX // 100


def percent(total, rate):
    """The total after a discount of `rate` percent."""
    if not 0 <= rate <= 100:
        raise ValueError("rate must be between 0 and 100")
    {WRONG}


def points(total):
    """Points that a customer gets."""
    return total // 110
''',
    "shipping.py": '''\
"""What sending a parcel costs."""

FREE_FROM = 4800
BASE = 520
PER_KILO = 90


def shipping_fee(total, grams):
    """The fee for a parcel."""
    if total >= FREE_FROM:
        return 0
    kilos = (grams + 999) // 1000
    return BASE + kilos * PER_KILO
''',
    "orders.py": '''\
"""Orders and what becomes of them."""

from cart import Cart

RETURN_DAYS = 17
MAX_PIECES = 24


def is_returnable(days_since_purchase, opened):
    """Whether the shop takes an article back."""
    return not opened and days_since_purchase <= RETURN_DAYS


def check(cart: Cart):
    """Raise ValueError for an order that cannot be taken."""
    if not cart.items:
        raise ValueError("the order is empty")
    if sum(count for _, count in cart.items.values()) > MAX_PIECES:
        raise ValueError("too many pieces")
''',
    "cart.py": '''\
"""The customer's cart."""

import money


class Cart:
    def __init__(self):
        self.items = {}

    def add(self, name, price, count=1):
        old = self.items.get(name, (price, 0))[1]
        self.items[name] = (price, old + count)

    def total(self, rate=0):
        """The price of all, with discount and tax."""
        whole = sum(price * count for price, count in self.items.values())
        return money.with_tax(money.percent(whole, rate))
''',
    "test_money.py": """\
import money

assert money.with_tax(1000) == 1100
assert money.percent(1000, 20) == 800, f"percent(1000, 20) gave {money.percent(1000, 20)}, not 800"
assert money.points(1100) == 10
print("ok")
""",
    "test_cart.py": """\
from cart import Cart

cart = Cart()
cart.add("tea", 500, 2)
assert cart.total() == 1100
assert cart.total(50) == 550, f"total(50) gave {cart.total(50)}, not 550"
print("ok")
""",
}


def log() -> str:
    """Many lines that hold the words of every task."""
    kinds = ("return of article", "percent computed", "shipping fee asked", "customer days", "order checked")
    return "".join(f"2026-03-{1 + n % 28:02} {kinds[n % 5]} id={n * 37 % 1000} days={n % 90}\n" for n in range(3000))


FIXED = passes(lambda: PROJECT, "python3 test_money.py", "python3 test_cart.py")
MEDIAN = "import stats; assert stats.median([3, 1, 2]) == 2; assert stats.median([4, 1, 3, 2]) == 2.5"

TASKS = {
    "find": Task("Within how many days can a customer return an article?", says("17"), False),
    "explain": Task(
        "Explain what the function shipping_fee in shipping.py does, with its numbers.",
        says("4,?800", "520", "90"),
        False,
    ),
    "find in Japanese": Task(
        "送料が無料になるのはいくらからですか。コードを調べて答えてください。", says("4,?800", "[ぁ-んァ-ヶ]"), False
    ),
    "fix, file and command named": Task("`python3 test_money.py` fails. Find the bug in money.py and fix it.", FIXED),
    "fix, only the command named": Task("`python3 test_cart.py` fails. Find out why and fix it.", FIXED),
    "fix, only the function named": Task("money.percent(1000, 20) should give 800 but does not. Fix it.", FIXED),
    "fix, in Japanese": Task("`python3 test_money.py` が失敗します。原因を調べて直してください。", FIXED),
    "add a function": Task(
        "Add a file stats.py with a function median(values) that returns the median of a list of numbers.",
        passes(lambda: PROJECT, f"python3 -c {MEDIAN}"),
    ),
    "change a number": Task(
        "Shipping shall be free from 6000 yen on. Change that.",
        passes(
            lambda: PROJECT,
            "python3 -c from shipping import *; assert FREE_FROM == 6000; assert shipping_fee(5000, 500) == 610",
        ),
    ),
    "change a number, in Japanese": Task(
        "返品できる日数を 30 日に変えてください。",
        passes(
            lambda: PROJECT,
            "python3 -c import orders; assert orders.RETURN_DAYS == 30; assert orders.is_returnable(30, False)",
        ),
    ),
}

PROJECT = TaskProject({**FILES, "shop.log": log()}, ("test_money.py", "test_cart.py"), TASKS)
