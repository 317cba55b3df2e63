"""Numbers of a model that become constants of its generated code."""

import jax
import numpy as np

import zwang as zw
from zwang.codegen.names import parameters, shapes, with_parameters


def test_numbers_that_are_fixed_once_a_model_is_made_are_constants_of_its_code():
    """The servo's gain of the digger is a formula of a parameter, which was refused as C."""
    model = zw.gallery.load("digger").model
    named = dict(parameters(model))
    assert "parameters_gain" not in named and named
    p = np.array(list(named.values()))
    assert len(shapes(model)) == len(p)
    again = with_parameters(model, p)
    same = jax.tree.map(np.array_equal, again, model.params)
    assert jax.tree.all(same)
    moved = with_parameters(model, p + 1.0)
    assert moved["parameters"]["gain"] == model.params["parameters"]["gain"]
    jax.eval_shape(lambda p: model.parameters(with_parameters(model, p)), p)
