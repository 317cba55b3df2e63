"""A model as C99: header, source and test driver.

The model's own functions are straight lines, traced from its equations; the linear algebra is a
few short loops (`dense.c.in`), the same for every model. Nothing is allocated, nothing is static
but constants, and no library but the mathematical one is needed.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from zwang.algebra.reaction import MOST_SIGNS, MOST_STEPS, REACTION_FOUND, ROUND_OFF
from zwang.arguments import label
from zwang.arrays import require_float64
from zwang.call import misfits_named
from zwang.codegen.c.statements import Statements, constant, entries
from zwang.codegen.equations import Equations, equations, identifier, nonideal_rows
from zwang.codegen.expression import Node
from zwang.codegen.samples import Samples, refuse_nearly_parallel, samples
from zwang.dynamics.model import Model
from zwang.files import write_files
from zwang.version import __version__

DRIVER_STATES = 8
"""States whose accelerations the test driver knows."""


@dataclasses.dataclass(frozen=True)
class CCode:
    """A model as C.

    Attributes:
        name: prefix of every function, an identifier.
        header, source, driver: the text of `name.h`, `name.c` and `name_test.c`.
        equations: what they were written from.
        q0, v0: start that the header states.
    """

    name: str
    header: str
    source: str
    driver: str
    equations: Equations = dataclasses.field(repr=False)
    q0: np.ndarray
    v0: np.ndarray

    def __repr__(self) -> str:
        return f"C code in {', '.join(self.files)}; .write(folder) writes them"

    @property
    def files(self) -> dict[str, str]:
        """Text of each file, by name."""
        return {
            f"{self.name}.h": self.header,
            f"{self.name}.c": self.source,
            f"{self.name}_test.c": self.driver,
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, which is made if it is not there: all or none.

        Raises:
            OutputError: if a file cannot be written; earlier ones are unchanged.
        """
        return write_files(folder, self.files)


@misfits_named
def c_code(model: Model, q0=None, v0=None, *, name: str | None = None) -> CCode:
    """Write a model as C99 that needs neither zwang nor an allocation.

        NAME_acceleration   v̇ at (q, v, t)
        NAME_motion         v̇, constraint force and u, with a force applied
        NAME_project        q and v onto the constraints
        NAME_step           one fixed step (Runge-Kutta of order 4) with projection

    A, b, M and F are written out from the model's own functions; A⊕ is dense and takes no rank
    decision (three proximal sweeps), so that redundant rows and singular configurations need
    nothing more. A `zw.Servo` of the model is part of the code.

    Args:
        model: the model.
        q0, v0: start that the code states and that its test driver varies, shapes (nq,) and
            (nv,); ones and zeros by default.
        name: prefix of every function; the model's name by default.

    Returns:
        A `CCode`: `.header`, `.source`, `.driver`, `.write(folder)`.

    Raises:
        ModelError: for an operation that cannot be written as a formula, a singular mass matrix,
            limits of actuators, a servo together with nonideal constraints, or rows that are nearly
            parallel.

    Example:
        >>> zw.c_code(model, q0=[1.0, 0.0], v0=[0.0, 0.0]).write("firmware")
    """
    require_float64()
    found = equations(model)
    prefix = identifier(label(model.name if name is None else name, "c_code: name"))
    prefix = prefix if prefix[0].isalpha() else f"m_{prefix}"
    states = samples(found, q0, v0, DRIVER_STATES)
    refuse_nearly_parallel(found, states)
    start = states.start
    return CCode(
        prefix,
        _header(found, prefix, *start),
        _source(found, prefix),
        _driver(found, prefix, states),
        found,
        *start,
    )


def template(name: str, replaced: Mapping[str, str]) -> str:
    """A file of this folder with `@WORD@` replaced."""
    text = (importlib.resources.files("zwang.codegen.c") / name).read_text(encoding="utf-8")
    for word, value in replaced.items():
        text = text.replace(f"@{word}@", value)
    return text


def macros(found: Equations) -> dict[str, int]:
    """Sizes that the fixed part of the source is compiled with."""
    servo, nv, m = found.servo, len(found.v), found.m
    rows, nu = (len(servo.b), servo.nu) if servo else (0, 0)
    return {
        "NQ": len(found.q),
        "NV": nv,
        "NM": m,
        "NP": len(found.p),
        "NU": nu,
        "NS": rows,
        "NPHI": len(found.phi),
        "NPSI": len(found.psi),
        "PARTS": len(nonideal_rows(found.model)),
        "ROWS": max(m, rows, 2),
        "COLS": max(nv, nu, 2),
        "DIAGONAL_MASS": int(found.diagonal),
        "LINEAR_RATES": int(_linear_in_v(found)),
    }


def _linear_in_v(found: Equations) -> bool:
    """Whether no entry of A contains a velocity."""
    from zwang.codegen.expression import in_order

    used = {x for node in in_order(found.A.flat) for x in node.args if isinstance(x, Node)}
    used |= {x for x in found.A.flat if isinstance(x, Node)}
    return not any(x in used for x in found.v)


def _header(found: Equations, name: str, q0, v0) -> str:
    upper, size = name.upper(), macros(found)
    shown = lambda values: ", ".join(constant(x) for x in values) or "0"
    names = found.model.system.coordinates, found.model.system.velocities
    listed = lambda title, items: "".join(
        f"\n   {title}[{i}]  {_comment(x)}" for i, x in enumerate(items)
    )
    actuators = found.servo.actuators if found.servo else ()
    words = {
        "NAME": upper,
        "name": name,
        "version": __version__,
        "title": _comment(found.model.name),
        **{key: str(size[key]) for key in ("NQ", "NV", "NP", "NU", "NM")},
        "COORDINATES": listed("q", names[0]),
        "VELOCITIES": listed("v", names[1]),
        "PARAMETERS": listed("p", (f"{n} = {constant(x)}" for n, x in found.parameters)),
        "ACTUATORS": listed("u", actuators),
        "P0": shown(x for _, x in found.parameters),
        "Q0": shown(q0),
        "V0": shown(v0),
        "ENERGY": "" if found.potential is None else template("energy.h.in", {"name": name}),
    }
    return template("header.h.in", words)


def _comment(text: str) -> str:
    """Text that cannot end a comment of C."""
    return text.replace("*/", "* /").replace("\n", " ")


def _source(found: Equations, name: str) -> str:
    size, upper = macros(found), name.upper()
    words = {"NAME": upper, "name": name}
    listed = lambda rows: ", ".join(map(str, rows)) or "0"
    model = found.model
    parts = [
        template("prelude.c.in", words),
        *(f"#define {key} {value}\n" for key, value in size.items()),
        "\n",
        *_evaluations(found),
        template("dense.c.in", words),
    ]
    if found.servo:
        paper = str(int(found.servo.choice == "PaperLeastNorm"))
        servo = template("servo.c.in", words | {"PAPER_LEAST_NORM": paper})
    else:
        servo = ""
    impressed = nonideal_rows(model)
    nonideal = (
        template(
            "nonideal.c.in",
            words
            | {
                "FIRST": listed(s.start for s in impressed),
                "LAST": listed(s.stop for s in impressed),
                "MOST_STEPS": str(MOST_STEPS),
                "MOST_SIGNS": str(MOST_SIGNS),
                "ROUND_OFF": repr(ROUND_OFF),
                "SOLVED": repr(REACTION_FOUND),
            },
        )
        if impressed
        else ""
    )
    motion = template(
        "motion.c.in",
        words
        | {
            "ALL_ROWS": listed(range(found.m)),
            "VELOCITY_ROWS": listed(found.velocity_rows),
            "POSITION_ROWS": listed(found.position_rows),
            "POTENTIAL": ""
            if found.potential is None
            else "\n" + template("energy.c.in", words) + "\n",
        },
    )
    # the servo and friction need the operators above `motion`, and `motion` needs them
    head, tail = motion.split("/* everything at one state", 1)
    return "".join([*parts, head, servo, nonideal, "/* everything at one state", tail])


def _evaluations(found: Equations) -> list[str]:
    """The model's own functions."""
    state = "const double *q, const double *v, double t, const double *p"
    moved = "const double *q, const double *w, double t, const double *p"
    functions = [
        (
            "evaluate_rows",
            state,
            [
                ("M", found.M, "double M[NV][NV]"),
                ("A", found.A, "double A[ROWS][NV]"),
                ("phi", found.phi, "double *phi"),
                ("psi", found.psi, "double *psi"),
            ],
        ),
        ("evaluate_forces", state, [("F", found.F, "double *F"), ("b", found.b, "double *b")]),
        ("evaluate_rate", state, [("qdot", found.rate, "double *qdot")]),
        ("evaluate_move", moved, [("out", found.moved, "double *out")]),
    ]
    if found.servo:
        s = found.servo
        functions.append(
            (
                "evaluate_servo",
                state,
                [
                    ("A", s.A, "double A[NS][NV]"),
                    ("b", s.b, "double *b"),
                    ("B", s.B, "double B[NV][NU]"),
                    ("weight", s.weight, "double *weight"),
                    ("preferred", s.preferred, "double *preferred"),
                ],
            )
        )
    if found.nonideal is not None:
        functions.append(
            ("evaluate_nonideal", state + ", const double *f", [("c", found.nonideal, "double *c")])
        )
    if found.potential is not None:
        value = np.array([found.potential], object)
        functions.append(("evaluate_potential", state, [("V", value, "double *V")]))
    return [_function(found, *each) for each in functions]


def _function(found: Equations, name: str, arguments: str, outputs: Sequence) -> str:
    written = Statements(input_names(found))
    targets = [each for array, values, _ in outputs for each in entries(array, values)]
    unused = " ".join(f"(void){x.split('*')[-1].split(' ')[-1]};" for x in arguments.split(", "))
    zeros = [
        f"zero({a}, {int(np.prod(values.shape))});"
        if values.ndim == 1
        else f"zero(&{a}[0][0], {_count(a, values)});"
        for a, values, _ in outputs
    ]
    lines = [unused, " ".join(f"(void){a};" for a, *_ in outputs), *zeros]
    lines += written.assignments(targets)
    declared = ", ".join([arguments, *(d for *_, d in outputs)])
    body = "\n".join(f"    {line}" for line in lines)
    return f"static void {name}({declared}) {{\n{body}\n}}\n\n"


def _count(name: str, values: np.ndarray) -> str:
    return str(int(np.prod(values.shape)))


def input_names(found: Equations) -> dict[str, str]:
    """How each input of the expressions is written in C."""
    names = {"t": "t"}
    for letter, array in (("q", found.q), ("v", found.v), ("w", found.w), ("p", found.p)):
        names |= {f"{letter}{i}": f"{letter}[{i}]" for i in range(len(array))}
    return names | {f"f{i}": f"f[{i}]" for i in range(found.ideal.size)}


def _driver(found: Equations, name: str, states: Samples) -> str:
    rows = lambda values: ",\n    ".join(
        "{" + (", ".join(constant(x) for x in row) or "0") + "}" for row in values
    )
    reference = states.reference()
    return template(
        "driver.c.in",
        {
            "NAME": name.upper(),
            "name": name,
            "COUNT": str(len(states.q)),
            "Q": rows(states.q),
            "V": rows(states.v),
            "T": ", ".join(map(constant, states.t)),
            "P": rows(states.p),
            "EXPECTED": rows(reference.acceleration),
        },
    )
