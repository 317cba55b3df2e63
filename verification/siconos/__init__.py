"""Examples of Siconos with impacts, against the reference files of `siconos/siconos-tutorials`,
folder `examples/mechanics`, revision b6c9bfd (Apache-2.0).

Every reference file is compared in the coordinates that it holds, or stands with the reason why
not. Sizes, masses and starts are those of the examples' programs.

| file | what |
|---|---|
| `suite.py` | reference files, and their comparison |
| `impact.py` | Newton's law of impact between runs of zwang |
| `third.py` | the same without zwang, by SciPy |
| `balls.py`, `linkages.py` | the examples |
"""

from verification.siconos.suite import lines as lines
