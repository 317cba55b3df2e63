"""The list of models with their settings; imports nothing slow, so that `zwang list` answers at
once.

| file | what |
|---|---|
| `entry.py` | `Entry`, `Setting` |
| `passive.py` | members that move by themselves |
| `hierarchies.py` | members assembled from modules |
| `mechanisms.py` | members that are mechanism files |
| `servo.py` | members with actuators that enforce servo constraints |
"""

from __future__ import annotations

from zwang.gallery.index.entry import Entry as Entry
from zwang.gallery.index.entry import Setting as Setting
from zwang.gallery.index.hierarchies import HIERARCHIES
from zwang.gallery.index.mechanisms import MECHANISMS
from zwang.gallery.index.passive import PASSIVE
from zwang.gallery.index.servo import SERVO

ENTRIES: dict[str, Entry] = {
    entry.name: entry for entry in (*PASSIVE, *SERVO, *HIERARCHIES, *MECHANISMS)
}
NAMES: tuple[str, ...] = tuple(ENTRIES)
