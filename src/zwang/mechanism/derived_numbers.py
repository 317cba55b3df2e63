"""Numbers of a mechanism that depend on its other numbers.

A file gives some as formulas of its parameters. In joint coordinates the twists and frames of the
bodies depend on the positions of the joints' points. A number that was itself given another value
keeps that value.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from zwang.dynamics.model import AbstractParameterLayout
from zwang.errors import ModelError
from zwang.inputs.arithmetic import on_host, traced, xp
from zwang.inputs.arrays import as_parameters, is_concrete
from zwang.mechanism.field_types import FromFormula
from zwang.mechanism.friction import friction_numbers
from zwang.mechanism.geometry import Geometry, geometry_of

if TYPE_CHECKING:
    from zwang.mechanism.compiler import CompiledMechanism

Place = tuple[str, ...]


def with_values(part: Any, values: Mapping[str, Any]) -> Any:
    """Evaluate the formulas of a part of a mechanism at other parameters."""
    if isinstance(part, FromFormula):
        return part.expression.traced(values)
    if isinstance(part, Mapping):
        return {name: with_values(x, values) for name, x in part.items()}
    if isinstance(part, tuple):
        return tuple(with_values(x, values) for x in part)
    if dataclasses.is_dataclass(part) and not isinstance(part, type) and formulas(part):
        fields = {f.name: getattr(part, f.name) for f in dataclasses.fields(part)}
        return dataclasses.replace(part, **with_values(fields, values))
    return part


def formulas(part: object, where: Place = ()) -> dict[Place, FromFormula]:
    """All formulas of a part by their places."""
    if isinstance(part, FromFormula):
        return {where: part}
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        part = {f.name: getattr(part, f.name) for f in dataclasses.fields(part)}
    entries = part.items() if isinstance(part, Mapping) else ()
    if isinstance(part, tuple):
        entries = ((str(i), x) for i, x in enumerate(part))
    return {k: x for name, e in entries for k, x in formulas(e, (*where, str(name))).items()}


class DerivedNumbers(AbstractParameterLayout):
    """Computes all parameters of a mechanism that depend on others.

    Args:
        compiled: the mechanism.
    """

    with_control = True

    def __init__(self, compiled: CompiledMechanism):
        declared = compiled.declared
        self._name, self._d = declared.name, declared.d
        self._bodies, self._ground, self._joints = declared.bodies, declared.ground, declared.joints
        self._springs, self._bushings = declared.springs, declared.bushings
        self._gravity = compiled.gravity
        self._parameters = declared.parameters
        # The rough start is in maximal coordinates, and phases are taken from it.
        self._sizes = declared.maximal.compiled.joints.option_values
        self._forces, self._tree = compiled.forces.numbers, compiled.tree
        self._compiled = compiled
        self._fixed = {
            (name, where): x.expression.names
            for name in ("servo", "actuators", "parallel", "tables")
            for where, x in formulas(getattr(declared, name)).items()
        }
        names = {x for names in self._fixed.values() for x in names}
        self.fixed = frozenset(("parameters", x) for x in names)
        parts = (self._bodies, self._ground, self._joints, self._springs, self._bushings)
        self._formulas = bool(formulas((*parts, self._gravity)))
        self.declared: dict[str, Any] = {}
        with on_host():
            self.declared = self._numbers(dict(declared.parameters), {})
            own = {**self.declared, "parameters": dict(declared.parameters)}
            self.declared = jax.tree.map(lambda x: np.array(x, float), own)

    @property
    def is_needed(self) -> bool:
        """Return whether any number depends on others."""
        declared = bool(formulas(self._parameters)) or bool(self._fixed)
        closes = bool(self._compiled.spanning.closing)
        return self._formulas or declared or closes or self._tree is not None

    def geometry(self, values: Mapping[str, Any]) -> Geometry:
        """Bodies and points at other parameters."""
        bodies, ground = (with_values(x, values) for x in (self._bodies, self._ground))
        return geometry_of(bodies, ground, self._d, self._compiled.point_masses)

    def packed(self, p):
        """The parameters, with dependent ones updated."""
        inputs = {name: p[name] for name in ("parameters", "offset", "orientation")}
        if not is_concrete(inputs):
            with traced():
                return self._packed(p)
        same = jax.tree.map(lambda x, own: np.array_equal(x, own), inputs, self._own(inputs))
        if jax.tree.all(same):
            return p
        concrete = is_concrete(p)
        with on_host() if concrete else traced():
            found = self._packed(jax.tree.map(np.asarray, p) if concrete else p)
        return as_parameters(found) if concrete else found

    def _own(self, like: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.declared[name] for name in like}

    def _packed(self, p: dict[str, Any]) -> dict[str, Any]:
        values = self._parameter_values(p["parameters"])
        self._refuse_fixed(values)
        found = self._numbers(values, p) if self._formulas else {}
        p = {**p, "parameters": values, **self._moved(p, found)}
        # present positions and attitudes of points, given or computed
        geometry = dataclasses.replace(
            self.geometry(values), offset=p["offset"], orientation=p["orientation"]
        )
        p = {**p, **self._keep(p, geometry)}
        return p if self._tree is None else {**p, **self._moved(p, self._tree.numbers(geometry))}

    def _keep(self, p: Mapping[str, Any], geometry: Geometry) -> dict[str, Any]:
        """Projectors onto the kept rows of loops, for these positions and axes of points.

        Raises:
            ModelError: if a loop needs other rows than the model was made with.
        """
        own = p.get("keep", {})
        if not is_concrete((geometry.offset, geometry.orientation)):
            # Rows are decided before tracing; the projectors are NaN where the decision no longer
            # holds.
            holds = self._stand(geometry.offset, geometry.orientation) if own else True
            kept = jax.tree.map(lambda x: xp.where(holds, x, np.nan), own)
            return {"keep": kept} if own else {}
        loops = self._compiled.decided_loops(geometry, dict(p))
        found = self._compiled.kept_rows(loops)
        if beyond := found.keys() - own.keys():
            name = next(n for n in loops.found if self._joints[n].kind in beyond)
            raise ModelError(
                f"{self._name}: with these parameters the axes of loop {name} come within "
                f"{loops.found[name].off:.1e} rad of a linkage that meets some of its rows by "
                "itself, which was decided for the declared numbers; give the values where the "
                "mechanism is made: read(file, name=...)."
            )
        for sentence in sorted({*loops.locked} - {*self._compiled.loops.locked}):
            warnings.warn(f"{self._name}: {sentence}.", stacklevel=6)
        every = {kind: np.broadcast_to(np.eye(x.shape[-1]), x.shape) for kind, x in own.items()}
        return {"keep": {**every, **found}} if own else {}

    def _stand(self, offset, orientation):
        """Return whether points on a body have their declared relative axes and positions; traced.

        Deviations up to the allowed angle are accepted.
        """
        declared, carrier = self._compiled.geometry, self._compiled.geometry.carrier
        ends = self._compiled.joints.ends.values()
        points = sorted({i for pairs in ends for x in pairs for i in (x.a, x.b)})
        first = {int(carrier[i]): i for i in reversed(points)}
        b = np.array([i for i in points if i != first[int(carrier[i])]], int)
        a = np.array([first[int(carrier[i])] for i in b], int)

        def relative(offset, orientation):
            apart = offset[b] - offset[a]
            if orientation.ndim == 1:
                return orientation[b] - orientation[a], apart
            back = xp.swapaxes(orientation[a], -1, -2)
            return back @ orientation[b], xp.einsum("nij,nj->ni", back, apart)

        turned, apart = (
            xp.abs(x - y)
            for x, y in zip(
                relative(offset, orientation),
                relative(declared.offset, declared.orientation),
                strict=True,
            )
        )
        within = self._compiled.declared.parallel
        stands = xp.max(turned, initial=0.0) <= within
        if any(x.by_places for x in self._compiled.loops.found.values()):
            size = np.abs(declared.offset).max(initial=0.0)
            stands = stands & (xp.max(apart, initial=0.0) <= within * size)
        return stands

    def _parameter_values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters, each of which may be a formula of those before it."""
        values: dict[str, Any] = {}
        for name, own in self._parameters.items():
            values[name] = given[name]
            if isinstance(own, FromFormula):
                values[name] = _moved(given[name], float(own), own.expression.traced(values))
        return values

    def _numbers(self, values: Mapping[str, Any], p: Mapping[str, Any]) -> dict[str, Any]:
        """All declared numbers of the model, at these parameters."""
        joints, springs, bushings, gravity = (
            with_values(x, values)
            for x in (self._joints, self._springs, self._bushings, self._gravity)
        )
        geometry = self.geometry(values)
        gravity = [xp.asarray(x, float) for x in gravity]
        if self._tree is not None:  # the tree is in space
            gravity += [xp.zeros(())] * (3 - self._d)
        points = {"offset": geometry.offset, "orientation": geometry.orientation}
        found = {
            **points,
            "gravity": xp.stack(gravity),
            "sizes": self._sizes(joints, geometry.q, points),
            "springs": self._forces(springs, bushings),
        }
        rough = {n: friction_numbers(x.friction) for n, x in joints.items() if x.friction}
        if rough:
            found["friction"] = rough
        of_bodies = geometry.numbers if self._tree is None else self._tree.numbers(geometry)
        return {**found, **of_bodies}

    def _moved(self, p: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
        own = self._own(found)
        return {name: jax.tree.map(_moved, p[name], own[name], found[name]) for name in found}

    def _refuse_fixed(self, values: Mapping[str, Any]) -> None:
        """Raise if a gain or a limit, which is constant, depends on a changed parameter."""
        for (table, where), names in self._fixed.items():
            for name in sorted(names):
                x, own = values[name], self.declared["parameters"][name]
                if not is_concrete(x) or not np.array_equal(x, own):
                    raise ModelError(
                        f"{self._name}: {'.'.join((table, *where))} is a formula of the parameter "
                        f"{name!r}, and gains and limits of actuators, tables, and the angle up "
                        "to which axes are parallel are fixed once the mechanism is made; give the "
                        f"value where its file is read: read(file, {name}=...)."
                    )


def _moved(given, own, found):
    """Return a number as given, or recomputed if it is still the declared one."""
    return given + xp.where(given == own, found - own, 0.0)
