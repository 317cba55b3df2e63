"""`modelDescription.xml` of a functional mock-up unit."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET

from zwang.codegen.c.source import CCode
from zwang.version import __version__


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable of the interface, in the words of its standard.

    Attributes:
        name: its name; reference: its value reference.
        causality, variability, initial: as in the standard; initial is empty where there is none.
        start: start value, or None.
        derivative: value reference of the state that it is the derivative of, or None.
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


def variables(code: CCode, step: float) -> list[Variable]:
    """Time, q, v, their derivatives, applied forces, parameters, the step, and outputs, in the
    order of `instance.c.in`.
    """
    system, servo = code.equations.model.system, code.equations.servo
    found = [Variable("time", 0, "independent", "continuous", meaning="time [s]")]

    def add(name, causality, variability, **more):
        found.append(Variable(name, len(found), causality, variability, **more))

    states = [
        *((f"q.{n}", x) for n, x in zip(system.coordinates, code.q0, strict=True)),
        *((f"v.{n}", x) for n, x in zip(system.velocities, code.v0, strict=True)),
    ]
    for name, value in states:
        add(name, "output", "continuous", initial="exact", start=float(value))
    for i, (name, _) in enumerate(states):
        add(f"der({name})", "local", "continuous", initial="calculated", derivative=i + 1)
    for name in system.velocities:
        add(f"applied.{name}", "input", "continuous", start=0.0, meaning="force added to F")
    for name, value in code.equations.parameters:
        add(f"parameter.{name}", "parameter", "tunable", initial="exact", start=value)
    add(
        "step",
        "parameter",
        "tunable",
        initial="exact",
        start=step,
        meaning="length of the steps inside a communication step",
    )
    for name in system.velocities:
        add(f"constraint_force.{name}", "output", "continuous", initial="calculated")
    for name in servo.actuators if servo else ():
        add(f"control.{name}", "output", "continuous", initial="calculated")
    add(
        "violation",
        "output",
        "continuous",
        initial="calculated",
        meaning="largest residual of the constraints",
    )
    return found


def fmi2(code: CCode, token: str, listed: list[Variable], sources: list[str]) -> bytes:
    """The description for FMI 2.0."""
    root = ET.Element(
        "fmiModelDescription",
        {
            "fmiVersion": "2.0",
            "modelName": code.name,
            "guid": token,
            "generationTool": _tool(),
            "variableNamingConvention": "flat",
            "numberOfEventIndicators": "0",
        },
    )
    common = {
        "modelIdentifier": code.name,
        "canGetAndSetFMUstate": "true",
        "canSerializeFMUstate": "true",
    }
    for kind, more in (
        ("ModelExchange", {}),
        ("CoSimulation", {"canHandleVariableCommunicationStepSize": "true"}),
    ):
        element = ET.SubElement(root, kind, common | more)
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


def fmi3(code: CCode, token: str, listed: list[Variable]) -> bytes:
    """The description for FMI 3.0."""
    root = ET.Element(
        "fmiModelDescription",
        {
            "fmiVersion": "3.0",
            "modelName": code.name,
            "instantiationToken": token,
            "generationTool": _tool(),
            "variableNamingConvention": "flat",
        },
    )
    common = {
        "modelIdentifier": code.name,
        "canGetAndSetFMUState": "true",
        "canSerializeFMUState": "true",
    }
    ET.SubElement(root, "ModelExchange", common)
    ET.SubElement(root, "CoSimulation", common | {"canHandleVariableCommunicationStepSize": "true"})
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
    return _written(root)


def build_description(code: CCode, sources: list[str]) -> bytes:
    """`sources/buildDescription.xml` of FMI 3.0."""
    root = ET.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    part = ET.SubElement(root, "BuildConfiguration", {"modelIdentifier": code.name})
    files = ET.SubElement(part, "SourceFileSet", {"language": "C99"})
    for name in sources:
        ET.SubElement(files, "SourceFile", {"name": name})
    return _written(root)


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
        "InitialUnknowns": [v for v in listed if v.initial == "calculated"],
    }


def _written(root: ET.Element) -> bytes:
    ET.indent(root)
    return ET.tostring(root, encoding="UTF-8", xml_declaration=True)
