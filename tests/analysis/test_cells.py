"""A notebook cell that is run again defines its model again without compilation."""

import jax.numpy as jnp
import pytest

import zwang as zw
from tests.eager import compilations
from zwang.compile import keep_programs
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import read

MODEL = """
system = zw.System(
    nq=2,
    mass_matrix=lambda q, t, p: p["m"] * jnp.ones(2),
    force=lambda q, v, t, p: jnp.array([p["push"], -9.81 * p["m"]]),
)
rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
model = zw.Model(system, [rod], {"m": 1.0, "push": 0.0})
"""
CELLS = {
    "equilibrium": MODEL + "zw.analysis.equilibrium(model, [0.1, -1.0])",
    "linearize": MODEL + "zw.analysis.linearize(model, [0.0, -1.0], inputs=['push']).modes()",
    "kinematics": "zw.analysis.kinematics(read(FILE), 'A', (0.0, 0.2), samples=3, output='D')",
}
FILE = FOLDER / "four-bar.toml"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CELLS)
def test_the_analysis_of_a_cell_compiles_nothing_when_it_is_run_again(name, tmp_path):
    assert keep_programs(tmp_path) == ""
    # JAX converts a number by a program of its own, which it may have dropped meanwhile
    own = {"fun_name": "jit(convert_element_type)"}
    for _ in range(2):
        with compilations() as compiled:
            names = {"zw": zw, "jnp": jnp, "read": read, "FILE": FILE}
            exec(compile(CELLS[name], "<cell>", "exec"), names)
    assert all(about == own for about in compiled)
