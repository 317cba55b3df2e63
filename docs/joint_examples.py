"""A standalone mechanism file for every kind of joint, in the plane and in space, made from the
registry, so that none escapes. `tests/mechanism/test_joint_examples.py` runs all of them.
"""

import dataclasses
import json

from zwang.mechanism.joint_kind import JointEquations, JointKind
from zwang.mechanism.registry import JOINT_KINDS

DURATION = 1.0
WORLDS = {"plane": 2, "space": 3}


@dataclasses.dataclass(frozen=True)
class JointExample:
    """A file that shows one kind of joint.

    Attributes:
        kind: the kind of joint.
        world: "plane" or "space".
        text: the file.
    """

    kind: JointKind
    world: str
    text: str

    @property
    def name(self) -> str:
        """The kind and the world, as a file is called."""
        return f"{self.kind.name}-{self.world}"

    @property
    def removes(self) -> int:
        """Degrees of freedom that the joint removes."""
        equations = self.kind.equations(WORLDS[self.world])
        assert equations is not None
        return equations.removes


def _value(value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_value(x) for x in value)}]"
    return json.dumps(value)


def _options(kind: JointKind) -> str:
    return "".join(f", {name} = {_value(value)}" for name, value in kind.example.items())


def _name(kind: JointKind) -> str:
    """A name of the joint that formulas could use."""
    return kind.name.replace("-", "_")


def _pose(equations: JointEquations, d: int) -> str:
    """Where a body stands so that the rows of its joint vanish."""
    example = equations.example
    at = f"at = {_value(tuple(float(x) for x in example.displacement[:d]))}"
    if d == 2:
        return f"{at}, angle = {float(example.rotation[2])}"
    return f"{at}, turn = {_value(tuple(float(x) for x in example.rotation))}"


def _single(kind: JointKind, world: str, equations: JointEquations) -> str:
    d = WORLDS[world]
    inertia = "0.1" if d == 2 else "[0.1, 0.2, 0.25]"
    # away from the point of the joint, so that gravity moves the body where the joint lets it
    arm = (0.3, 0.1, 0.2)[:d]
    return (
        f'name = "{kind.name}"\nworld = "{world}"\n\n[bodies]\n'
        f"body = {{ mass = 1.0, inertia = {inertia}, {_pose(equations, d)}, "
        f"points = {{ tip = {_value(arm)} }} }}\n\n[joints]\n"
        f'{_name(kind)} = {{ kind = "{kind.name}", '
        f'between = ["ground", "body"]{_options(kind)} }}\n\n'
        f'[forces]\npush = {{ on = "body.tip", effort = {_value(("0.5",) * d)} }}\n\n'
        f"[run]\nduration = {DURATION}\n"
    )


def _coupling(kind: JointKind, world: str) -> str:
    d = WORLDS[world]
    inertia = "0.1" if d == 2 else "[0.1, 0.2, 0.25]"
    kinds = [
        "prismatic" if coupled is not None and coupled.unit == "m" else "revolute"
        for coupled in kind.couples or ()
    ]
    place = {"first": (0.0, 0.0, 0.0)[:d], "second": (1.0, 0.0, 0.0)[:d]}
    # a point off the axis, so that turning is seen
    tip = f"points = {{ tip = {_value((0.3, 0.1, 0.2)[:d])} }}"
    bodies = "".join(
        f"{name} = {{ mass = 1.0, inertia = {inertia}, at = {_value(at)}, {tip} }}\n"
        for name, at in place.items()
    )
    joints = "".join(
        f'{name} = {{ kind = "{carrier}", between = ["ground.{name}", "{name}"] }}\n'
        for name, carrier in zip(place, kinds, strict=True)
    )
    ground = "".join(f"{name} = {_value(at)}\n" for name, at in place.items())
    return (
        f'name = "{kind.name}"\nworld = "{world}"\n\n[bodies]\n{bodies}\n[ground]\n{ground}\n'
        f"[joints]\n{joints}"
        f'{_name(kind)} = {{ kind = "{kind.name}", '
        f'joints = ["first", "second"]{_options(kind)} }}\n\n'
        f'[forces]\nturn = {{ joint = "first", effort = "0.2" }}\n\n'
        f"[run]\nduration = {DURATION}\n"
    )


def examples() -> list[JointExample]:
    """An example of every kind in every world that it exists in."""
    found = []
    for kind in JOINT_KINDS.values():
        for world, d in WORLDS.items():
            equations = kind.equations(d)
            if equations is not None:
                made = _coupling(kind, world) if kind.couples else _single(kind, world, equations)
                found.append(JointExample(kind, world, made))
    return found


EXAMPLES = examples()
assert {example.kind.name for example in EXAMPLES} == set(JOINT_KINDS)
