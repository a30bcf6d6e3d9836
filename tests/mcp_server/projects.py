"""The project that tools are tried on: code with tests, documents, records, a memory, secrets, and files beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.builders import PAYMENTS, built_shop, copied_shop, write_files
from tests.support.memories import fill_memory
from tests.support.records import write_records

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

SECRET = "ghp_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fL3nRt"
"""Looks like a token of a forge; put together here, so that no scanner takes this file for a leak."""

FILES = PAYMENTS | {
    "tests/test_client.py": (
        "from payments.client import PaymentClient\n\n\n"
        "def test_retry_ends():\n    assert PaymentClient(None, attempts=1).attempts == 1\n"
    ),
    "src/settings.py": f'"""Settings of the forge."""\n\nFORGE_TOKEN = "{SECRET}"\nFORGE_URL = "https://forge.example"\n',
    ".env": f"FORGE_TOKEN={SECRET}\n",
    ".gitignore": "build/\n",
    "build/generated.py": "def generated_and_ignored():\n    return 1\n",
    **{
        f"src/parts/part_{number:02}.py": (
            f'"""Part {number} of the ledger report."""\n\n\n'
            f"def ledger_report_{number}(rows):\n"
            f'    """Make part {number} of the ledger report from rows."""\n    return [row for row in rows]\n'
        )
        for number in range(12)
    },
}

OUTSIDE = "the salary list of the neighbours\n"


def shop_of_all(folder: Path) -> Shop:
    """The project, indexed, its records accepted; a neighbour lies beside it, and a link leads there."""
    write_files(folder, {"neighbour/salaries.md": OUTSIDE})
    shop = copied_shop(built_shop(tuple(FILES.items())), folder)
    (shop.root / "link.md").symlink_to(folder / "neighbour" / "salaries.md")
    write_records(shop.root, shop.home)
    fill_memory(shop)
    shop.out("reindex", "--quiet")
    return shop
