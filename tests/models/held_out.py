"""A weather station: a Python package with tests of `unittest`, on which no help for small models was ever tried.

Law: nothing is tuned on it; how often a model succeeds here is told beside the other projects.
"""

from __future__ import annotations

from tests.models.task_project import Task, TaskProject, passes, says

FILES = {
    "README.md": "# Station\n\nReadings and warnings. `python3 -m unittest discover -q` runs the tests.\n",
    "station/__init__.py": "",
    "station/units.py": '''\
"""Conversions between units."""


def fahrenheit(celsius):
    """Degrees Celsius in Fahrenheit."""
    return celsius * 9 / 5 + 32


def knots(metres_per_second):
    """Metres a second in knots."""
    return metres_per_second * 3600 / 1852
''',
    "station/readings.py": '''\
"""Readings of one day."""

KEEP_HOURS = 74


class Readings:
    def __init__(self):
        self.values = []

    def add(self, hour, celsius, wind):
        """Keep a reading; `wind` in metres a second."""
        self.values.append((hour, celsius, wind))

    def mean(self):
        """The mean temperature, or None without readings."""
        if not self.values:
            return None
        return sum(celsius for _, celsius, _ in self.values) / len(self.values)

    def strongest_wind(self):
        """The strongest wind of the day, 0 without readings."""
        return min((wind for _, _, wind in self.values), default=0)
''',
    "station/warnings.py": '''\
"""Warnings for the public."""

from station.readings import Readings
from station.units import knots

GALE_KNOTS = 34
STORM_KNOTS = 48
FROST = -3


def frost_warning(readings: Readings):
    """Whether it was below the limit at any hour."""
    return any(celsius < FROST for _, celsius, _ in readings.values)


def wind_warning(readings: Readings):
    """The word for the strongest wind, or an empty string."""
    speed = knots(readings.strongest_wind())
    if speed >= STORM_KNOTS:
        return "storm"
    if speed >= GALE_KNOTS:
        return "gale"
    return ""
''',
    "tests/__init__.py": "",
    "tests/test_readings.py": """\
import unittest

from station.readings import Readings


class ReadingsTest(unittest.TestCase):
    def setUp(self):
        self.readings = Readings()
        self.readings.add(6, 2.0, 4.0)
        self.readings.add(12, 8.0, 9.0)

    def test_mean(self):
        self.assertEqual(self.readings.mean(), 5.0)

    def test_strongest_wind(self):
        self.assertEqual(self.readings.strongest_wind(), 9.0)


if __name__ == "__main__":
    unittest.main()
""",
    "tests/test_warnings.py": """\
import unittest

from station.readings import Readings
from station.warnings import frost_warning, wind_warning


class WarningsTest(unittest.TestCase):
    def test_frost(self):
        readings = Readings()
        readings.add(4, -5.0, 1.0)
        self.assertTrue(frost_warning(readings))

    def test_gale(self):
        readings = Readings()
        readings.add(4, 3.0, 5.0)
        readings.add(9, 6.0, 20.0)
        self.assertEqual(wind_warning(readings), "gale")


if __name__ == "__main__":
    unittest.main()
""",
}

FIXED = passes(lambda: PROJECT, "python3 -m unittest discover -q")

TASKS = {
    "find": Task("From how many knots on is there a storm warning?", says("48"), False),
    "explain": Task(
        "Explain what the function wind_warning in station/warnings.py does, with its numbers.",
        says("34", "48"),
        False,
    ),
    "fix, file and command named": Task(
        "`python3 -m unittest -q tests.test_readings` fails. Find the bug in station/readings.py and fix it.", FIXED
    ),
    "fix, only the command named": Task(
        "`python3 -m unittest -q tests.test_warnings` fails. Find out why and fix it.", FIXED
    ),
    "fix, in Japanese": Task(
        "`python3 -m unittest -q tests.test_readings` が失敗します。原因を調べて直してください。", FIXED
    ),
    "add a function": Task(
        "Add a function celsius(fahrenheit) to station/units.py that converts degrees Fahrenheit to Celsius.",
        passes(lambda: PROJECT, "python3 -c from station.units import celsius; assert round(celsius(212), 6) == 100"),
    ),
}

PROJECT = TaskProject(FILES, ("tests/test_readings.py", "tests/test_warnings.py"), TASKS)
