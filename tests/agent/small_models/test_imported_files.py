from __future__ import annotations

from pathlib import Path

import pytest

from yohaku.agent.small_models.imported_files import find_imported_files


def imported(root: Path, name: str, text: str) -> list[str]:
    return [path.relative_to(root.resolve()).as_posix() for path in find_imported_files(root, root / name, text)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (
        "money.py", "shop/__init__.py", "shop/cart.py", "shop/tax.py", "src/till/__init__.py", "src/till/box.py",
        "tests/helpers.py", "web/fees.js", "web/days.ts", "web/parts/index.js",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("tests/test_a.py", "import money\nimport os\n", ["money.py"]),
        ("tests/test_a.py", "import money, shop.cart\n", ["money.py", "shop/cart.py"]),
        ("tests/test_a.py", "from shop.cart import Cart\n", ["shop/cart.py"]),
        ("tests/test_a.py", "from shop import cart, tax\n", ["shop/cart.py", "shop/tax.py"]),
        ("tests/test_a.py", "from shop import (\n    cart,\n)\n", ["shop/cart.py"]),
        ("tests/test_a.py", "from shop import VERSION\n", ["shop/__init__.py"]),
        ("tests/test_a.py", "from till.box import Box\nimport helpers\n", ["src/till/box.py", "tests/helpers.py"]),
        (
            "shop/cart.py",
            "from .tax import RATE\nfrom . import tax\nfrom .. import money\n",
            ["shop/tax.py", "money.py"],
        ),
        ("shop/cart.py", "from .... import money\nimport nothing.at.all\n", []),
        (
            "web/a.test.js",
            'const { fee } = require("./fees");\nimport x from "./days";\n',
            ["web/fees.js", "web/days.ts"],
        ),
        ("web/a.test.ts", 'import { a } from "./days.js";\nimport "./parts";\n', ["web/days.ts", "web/parts/index.js"]),
        ("web/a.js", 'const fs = require("node:fs");\nimport z from "zod";\n', []),
        ("notes.txt", "import money\n", []),
    ],
)
def test_the_files_of_the_project_that_a_file_imports(project: Path, name: str, text: str, found: list[str]) -> None:
    assert imported(project, name, text) == found


def test_a_file_does_not_import_itself(project: Path) -> None:
    assert imported(project, "money.py", "import money\n") == []
