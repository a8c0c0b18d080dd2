"""A lending library in JavaScript: small modules, and one of 600 lines; a line is wrong in each of two files.

It checks that the help given to small models is not fitted to one project or one language.
"""

from __future__ import annotations

from tests.models.task_project import Task, TaskProject, passes, says

SHELVES = (
    "poetry travel cooking history music garden birds ships maps chess clocks glass bridges rivers stars "
    "weaving bread moss owls tea trees"
).split()

HEAD = """\
"use strict";
// The shelves of the library: one group of functions for each.

const PAGES_PER_CENTIMETRE = 120;
"""

SHELF = """
// ---- {name}

const {NAME}_ROOM = {room};
const {NAME}_WIDTH = {width};

/** The number that is printed on the back of a book about {name}. */
function {name}Number(index) {{
  if (index < 1) {{
    throw new RangeError("a number for {name} begins at 1");
  }}
  return {NAME}_ROOM * 1000 + index;
}}

/** How many books of so many pages fit into one row of {name}. */
function {name}Row(pages) {{
  const thickness = Math.ceil(pages / PAGES_PER_CENTIMETRE);
  if (thickness > {NAME}_WIDTH) {{
    return 0;
  }}
  return Math.floor({NAME}_WIDTH / thickness);
}}

/** The label at the end of the row. */
function {name}Label(row) {{
  const letter = String.fromCharCode({letter} + row);
  return "{name}".toUpperCase() + " " + letter;
}}
"""

WRONG_ROWS, RIGHT_ROWS = "return Math.floor(books / perRow);", "return Math.ceil(books / perRow);"

TAIL = f"""
// ---- all shelves

/** How many rows are needed for so many books. */
function rowsNeeded(books, perRow) {{
  if (perRow < 1) {{
    throw new RangeError("a row holds at least one book");
  }}
  {WRONG_ROWS}
}}

module.exports = {{ {", ".join(f"{name}Number, {name}Row, {name}Label" for name in SHELVES)}, rowsNeeded }};
"""


def shelves() -> str:
    made = (
        SHELF.format(name=name, NAME=name.upper(), room=3 + n * 2, width=60 + n * 7 % 30, letter=65 + n % 3)
        for n, name in enumerate(SHELVES)
    )
    return HEAD + "".join(made) + TAIL


FILES = {
    "README.md": (
        "# A lending library\n\nFees in cents. `node test-fees.js`, `node test-loans.js` and "
        "`node test-shelves.js` are the tests.\n"
    ),
    "package.json": '{\n  "name": "library",\n  "private": true,\n  "version": "1.0.0"\n}\n',
    "dates.js": """\
"use strict";

const DAY = 24 * 60 * 60 * 1000;

/** The day so many days later. */
function addDays(date, days) {
  return new Date(date.getTime() + days * DAY);
}

/** Whole days from one date to another; negative if the other is earlier. */
function daysBetween(from, to) {
  return Math.round((to.getTime() - from.getTime()) / DAY);
}

module.exports = { addDays, daysBetween };
""",
    "fees.js": """\
"use strict";

const PER_DAY = 20;
const MAX_FEE = 900;

/** What a book that is so many days late costs; never more than MAX_FEE. */
function lateFee(days) {
  if (days <= 0) {
    return 0;
  }
  return Math.max(days * PER_DAY, MAX_FEE);
}

/** What a lost book costs: its price and a fee for the work, by its pages. */
function lostFee(price, pages) {
  if (pages > 480) {
    return price + 350;
  }
  return price + 150;
}

module.exports = { lateFee, lostFee };
""",
    "loans.js": """\
"use strict";

const { addDays, daysBetween } = require("./dates");
const fees = require("./fees");

const LOAN_DAYS = 26;
const MAX_LOANS = 7;

/** The books that a member has at home. */
class Loans {
  constructor() {
    this.books = new Map();
  }

  lend(title, day) {
    if (this.books.size >= MAX_LOANS) {
      throw new Error("too many books");
    }
    this.books.set(title, addDays(day, LOAN_DAYS));
  }

  /** Take a book back; returns what has to be paid. */
  takeBack(title, day) {
    const due = this.books.get(title);
    this.books.delete(title);
    return fees.lateFee(daysBetween(due, day));
  }
}

module.exports = { Loans };
""",
    "shelves.js": shelves(),
    "test-fees.js": """\
const assert = require("node:assert");
const { lateFee, lostFee } = require("./fees");

assert.strictEqual(lateFee(0), 0);
assert.strictEqual(lateFee(3), 60);
assert.strictEqual(lateFee(100), 900);
assert.strictEqual(lostFee(1500, 500), 1850);
console.log("ok");
""",
    "test-loans.js": """\
const assert = require("node:assert");
const { Loans } = require("./loans");

const loans = new Loans();
loans.lend("Moby Dick", new Date("2026-03-02"));
assert.strictEqual(loans.takeBack("Moby Dick", new Date("2026-04-02")), 100);
console.log("ok");
""",
    "test-shelves.js": """\
const assert = require("node:assert");
const shelves = require("./shelves");

assert.strictEqual(shelves.poetryNumber(4), 3004);
assert.strictEqual(shelves.rowsNeeded(40, 20), 2);
assert.strictEqual(shelves.rowsNeeded(41, 20), 3);
console.log("ok");
""",
}

FIXED = passes(lambda: PROJECT, "node test-fees.js", "node test-loans.js")
FIVE_WEEKS = 'node -e if(require("./dates").wholeWeeks(37)!==5)throw(1)'

TASKS = {
    "find": Task("For how many days may a member keep a book?", says("26"), False),
    "explain": Task(
        "Explain what the function lostFee in fees.js does, with its numbers.", says("480", "350", "150"), False
    ),
    "fix, file and command named": Task("`node test-fees.js` fails. Find the bug in fees.js and fix it.", FIXED),
    "fix, only the command named": Task("`node test-loans.js` fails. Find out why and fix it.", FIXED),
    "fix, in Japanese": Task("`node test-fees.js` が失敗します。原因を調べて直してください。", FIXED),
    "fix, in a file of 600 lines": Task(
        "`node test-shelves.js` fails. Find the bug in shelves.js and fix it.",
        passes(lambda: PROJECT, "node test-shelves.js"),
    ),
    "add a function": Task(
        "Add a function wholeWeeks(days) to dates.js that returns the number of whole weeks in them, and export it.",
        passes(lambda: PROJECT, FIVE_WEEKS),
    ),
}

PROJECT = TaskProject(FILES, ("test-fees.js", "test-loans.js", "test-shelves.js"), TASKS)
