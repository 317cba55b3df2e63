"""The equation of motion as a function of CasADi."""

import numpy as np
import pytest

import zwang as zw
from zwang.codegen.casadi import casadi_code

pytest.importorskip("casadi", reason="extra `optimal`")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["pendulum", "double-pendulum", "five-bar"])
def test_function_agrees_with_motion(name, tmp_path):
    example = zw.gallery.load(name)
    code = casadi_code(example.model)
    (file,) = code.write(tmp_path)
    scope = {}
    exec(compile(file.read_text(), file.name, "exec"), scope)
    function = scope[code.name]()
    p = [value for _, value in code.parameters]
    state = zw.consistent_state(example.model, example.q0 + 0.1, example.v0 + 0.3).state
    q, v = np.asarray(state.q), np.asarray(state.v)
    expected = zw.motion(example.model, q, v)
    found = function(q=q, v=v, t=0.0, p=p, f=0.0)
    for key, array in (("a", expected.acceleration), ("Q_c", expected.constraint_force)):
        size = np.max(np.abs(array))
        np.testing.assert_allclose(found[key].full().ravel(), array, atol=1e-12 * size)
    A, b = found["A"].full(), found["b"].full().ravel()
    np.testing.assert_allclose(A @ expected.acceleration, b, atol=1e-12 * np.max(np.abs(b)))
    # a force on the velocities acts through M⁻¹
    pushed = function(q=q, v=v, t=0.0, p=p, f=found["M"].full() @ expected.acceleration)
    assert np.max(np.abs((pushed["a"] - found["a"]).full())) > 0
