"""Where things are."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build" / "benchmark"
STORES = BUILD / "stores"
