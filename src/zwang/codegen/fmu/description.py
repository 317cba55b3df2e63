"""`modelDescription.xml` of a functional mock-up unit."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET

import numpy as np

from zwang.equations.system import System
from zwang.version import __version__


@dataclasses.dataclass(frozen=True)
class Interface:
    """Interface of a unit.

    Attributes:
        name: identifier.
        system: its coordinates and velocities are the states of the unit.
        parameters: name and value of each parameter.
        actuators: names of the controls.
        q0, v0: start.
        step: length of its internal steps [s], a parameter of the unit; None with step size
            control.
        loose: names of gaps and dry frictions, whose events have indicators.
        python: whether Python computes the motion: there is then no model exchange, and snapshots
            of the state cannot be serialized.
    """

    name: str
    system: System
    parameters: tuple[tuple[str, float], ...]
    actuators: tuple[str, ...]
    q0: np.ndarray
    v0: np.ndarray
    step: float | None
    loose: tuple[str, ...] = ()
    python: bool = False


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable of the interface, in the terms of the standard.

    Attributes:
        name: its name; reference: its value reference.
        causality, variability, initial: as in the standard; initial is empty where it does not
            apply.
        start: start value, or None.
        derivative: value reference of the state of which it is the derivative, or None.
        meaning: a few words.
    """

    name: str
    reference: int
    causality: str
    variability: str
    initial: str = ""
    start: float | None = None
    derivative: int | None = None
    meaning: str = ""


def variables(shown: Interface) -> list[Variable]:
    """Return time, q, v, their derivatives, applied forces, parameters, the step, and outputs, in
    the order of `instance.c.in` and `process.c.in`.
    """
    system = shown.system
    found = [Variable("time", 0, "independent", "continuous", meaning="time [s]")]

    def add(name, causality, variability, **more):
        found.append(Variable(name, len(found), causality, variability, **more))

    states = [
        *((f"q.{n}", x) for n, x in zip(system.coordinates, shown.q0, strict=True)),
        *((f"v.{n}", x) for n, x in zip(system.velocities, shown.v0, strict=True)),
    ]
    for name, value in states:
        add(name, "output", "continuous", initial="exact", start=float(value))
    for i, (name, _) in enumerate(states):
        add(f"der({name})", "local", "continuous", initial="calculated", derivative=i + 1)
    for name in system.velocities:
        add(f"applied.{name}", "input", "continuous", start=0.0, meaning="force added to F")
    for name, value in shown.parameters:
        add(f"parameter.{name}", "parameter", "tunable", initial="exact", start=value)
    if shown.step is not None:
        meaning = "length of the steps inside a communication step"
        add("step", "parameter", "tunable", initial="exact", start=shown.step, meaning=meaning)
    for name in system.velocities:
        add(f"constraint_force.{name}", "output", "continuous", initial="calculated")
    for name in shown.actuators:
        add(f"control.{name}", "output", "continuous", initial="calculated")
    add(
        "violation",
        "output",
        "continuous",
        initial="calculated",
        meaning="largest residual of the constraints",
    )
    meaning = "rises through zero where this is held otherwise from then on"
    for name in shown.loose:
        add(f"event.{name}", "local", "continuous", initial="calculated", meaning=meaning)
    return found


def fmi2(shown: Interface, token: str, listed: list[Variable], sources: list[str]) -> bytes:
    """Return the description for FMI 2.0."""
    root = ET.Element(
        "fmiModelDescription",
        {
            "fmiVersion": "2.0",
            "modelName": shown.name,
            "guid": token,
            "generationTool": _tool(),
            "variableNamingConvention": "flat",
            "numberOfEventIndicators": str(len(shown.loose)),
        },
    )
    for kind, attributes in _kinds(shown, "FMUstate").items():
        element = ET.SubElement(root, kind, attributes)
        files = ET.SubElement(element, "SourceFiles")
        for name in sources:
            ET.SubElement(files, "File", {"name": name})
    ET.SubElement(root, "DefaultExperiment", {"startTime": "0", "stopTime": "1"})
    model = ET.SubElement(root, "ModelVariables")
    for v in listed:
        attributes = _attributes(v)
        inner = {} if v.start is None else {"start": repr(v.start)}
        if v.derivative is not None:
            inner["derivative"] = str(v.derivative + 1)  # counted from 1, time first
        ET.SubElement(ET.SubElement(model, "ScalarVariable", attributes), "Real", inner)
    structure = ET.SubElement(root, "ModelStructure")
    for part, chosen in _structure(listed).items():
        if chosen:
            element = ET.SubElement(structure, part)
            for v in chosen:
                ET.SubElement(element, "Unknown", {"index": str(v.reference + 1)})
    return _written(root)


def fmi3(shown: Interface, token: str, listed: list[Variable]) -> bytes:
    """Return the description for FMI 3.0."""
    root = ET.Element(
        "fmiModelDescription",
        {
            "fmiVersion": "3.0",
            "modelName": shown.name,
            "instantiationToken": token,
            "generationTool": _tool(),
            "variableNamingConvention": "flat",
        },
    )
    for kind, attributes in _kinds(shown, "FMUState").items():
        ET.SubElement(root, kind, attributes)
    ET.SubElement(root, "DefaultExperiment", {"startTime": "0", "stopTime": "1"})
    model = ET.SubElement(root, "ModelVariables")
    for v in listed:
        attributes = _attributes(v)
        if v.start is not None:
            attributes["start"] = repr(v.start)
        if v.derivative is not None:
            attributes["derivative"] = str(v.derivative)
        ET.SubElement(model, "Float64", attributes)
    structure = ET.SubElement(root, "ModelStructure")
    words = {
        "Outputs": "Output",
        "Derivatives": "ContinuousStateDerivative",
        "InitialUnknowns": "InitialUnknown",
    }
    for part, chosen in _structure(listed).items():
        for v in chosen:
            ET.SubElement(structure, words[part], {"valueReference": str(v.reference)})
    for v in listed[len(listed) - len(shown.loose) :]:
        ET.SubElement(structure, "EventIndicator", {"valueReference": str(v.reference)})
    return _written(root)


def build_description(name: str, sources: list[str]) -> bytes:
    """Return `sources/buildDescription.xml` of FMI 3.0."""
    root = ET.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    part = ET.SubElement(root, "BuildConfiguration", {"modelIdentifier": name})
    files = ET.SubElement(part, "SourceFileSet", {"language": "C99"})
    for name in sources:
        ET.SubElement(files, "SourceFile", {"name": name})
    return _written(root)


def _kinds(shown: Interface, state: str) -> dict[str, dict[str, str]]:
    """Return the interface types of a unit, with their attributes.

    Args:
        shown: the interface.
        state: the name of a snapshot in the standard.
    """
    common = {"modelIdentifier": shown.name}
    common |= {"needsExecutionTool": "true"} if shown.python else {}
    common |= {f"canGetAndSet{state}": "true"}
    common |= {} if shown.python else {f"canSerialize{state}": "true"}
    variable = {"canHandleVariableCommunicationStepSize": "true"}
    exchange = {} if shown.python else {"ModelExchange": common}
    return exchange | {"CoSimulation": common | variable}


def _tool() -> str:
    return f"zwang {__version__}"


def _attributes(v: Variable) -> dict[str, str]:
    found = {
        "name": v.name,
        "valueReference": str(v.reference),
        "causality": v.causality,
        "variability": v.variability,
    }
    found |= {"initial": v.initial} if v.initial else {}
    return found | ({"description": v.meaning} if v.meaning else {})


def _structure(listed: list[Variable]) -> dict[str, list[Variable]]:
    return {
        "Outputs": [v for v in listed if v.causality == "output"],
        "Derivatives": [v for v in listed if v.derivative is not None],
        "InitialUnknowns": [
            v
            for v in listed
            if v.initial == "calculated" and (v.causality == "output" or v.derivative is not None)
        ],
    }


def _written(root: ET.Element) -> bytes:
    ET.indent(root)
    return ET.tostring(root, encoding="UTF-8", xml_declaration=True)
