"""Invalid shapes are refused with the reason."""

import pytest

from zwang.bodies import Shape
from zwang.bodies.shape import SIZES
from zwang.errors import ModelError


def test_every_kind_of_shape_takes_as_many_sizes_as_are_named():
    for kind, names in SIZES.items():
        assert len(
            Shape(kind, [0.1] * len(names), file="hand.stl" if kind == "mesh" else None).size
        ) == len(names)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "cone", "size": [1.0]}, "there is no shape 'cone'"),
        ({"kind": "sphere", "size": [1.0, 2.0]}, "expected positive numbers: radius"),
        ({"kind": "sphere", "size": [-1.0]}, "expected positive numbers"),
        ({"kind": "mesh"}, "needs a file"),
        ({"kind": "box", "size": [1, 1, 1], "file": "a.stl"}, "takes no file"),
        ({"kind": "box", "size": [1, 1, 1], "orientation": [1, 1, 0, 0]}, "unit quaternion"),
        ({"kind": "box", "size": [1, 1, 1], "position": [1, 1]}, "expected 3 numbers"),
        ({"kind": "box", "size": [1, 1, 1], "color": [255, 0, 0, 1]}, "between 0 and 1"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(given, said):
    with pytest.raises(ModelError, match=said):
        Shape(**given)
