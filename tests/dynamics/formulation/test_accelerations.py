"""Every formulation with every pseudoinverse gives the unique acceleration that the constraints
determine.
"""

import functools

import jax
import numpy as np
import pytest

from tests.algebra.pseudoinverse.matrices import QUICK, SOME_SLOW
from zwang.algebra.pseudoinverse import Proximal
from zwang.objects.families import FORMULATIONS

from .problems import five_bar_problems, regular_problems, singular_mass_problems

REGULAR = five_bar_problems() | regular_problems()
SINGULAR = singular_mass_problems()

every_formulation = pytest.mark.parametrize(
    "formulation", FORMULATIONS.classes(), ids=lambda member: member.__name__
)
every_pseudoinverse = pytest.mark.parametrize(
    "pseudoinverse", SOME_SLOW, ids=lambda member: member.__name__
)


@functools.cache
def accelerations(pseudoinverse):
    """By formulation, then by problem: everything in one program, a batch of problems under
    `vmap`.
    """
    problems = [*REGULAR.values(), *SINGULAR.values()]

    def one(M, F, A, b):
        return {
            member: member().acceleration(M, F, A, b, pseudoinverse())
            for member in FORMULATIONS.classes()
        }

    program = jax.jit(
        jax.vmap(lambda *problem: [*one(*problem).values()]),
        compiler_options=QUICK,
    )
    stacked = program(*(np.stack([p[i] for p in problems]) for i in range(4)))
    names = [*REGULAR, *(f"singular {case}" for case in SINGULAR)]
    return {
        member: dict(zip(names, np.asarray(batch), strict=True))
        for member, batch in zip(FORMULATIONS.classes(), stacked, strict=True)
    }


def assert_agrees(found, expected, case):
    """Round-off: 1e-16 times condition numbers of 10 to 1e3, squared where a formulation multiplies
    matrices.
    """
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=1e-10 * (1 + np.abs(expected).max()), err_msg=case
    )


@pytest.mark.one_in(4)
@every_pseudoinverse
@every_formulation
def test_a_positive_definite_mass_gives_the_known_acceleration(formulation, pseudoinverse):
    """Independent and redundant rows, the five-bar linkage at its singular configuration
    included.
    """
    for case, problem in REGULAR.items():
        assert_agrees(accelerations(pseudoinverse)[formulation][case], problem.acceleration, case)


@every_pseudoinverse
@pytest.mark.parametrize(
    "formulation",
    [member for member in FORMULATIONS.classes() if member.singular_mass],
    ids=lambda member: member.__name__,
)
def test_a_singular_mass_gives_the_known_acceleration(formulation, pseudoinverse):
    for case, problem in SINGULAR.items():
        assert_agrees(
            accelerations(pseudoinverse)[formulation][f"singular {case}"],
            problem.acceleration,
            case,
        )


@pytest.mark.parametrize(
    "formulation",
    [member for member in FORMULATIONS.classes() if not member.singular_mass],
    ids=lambda member: member.__name__,
)
def test_a_massless_coordinate_is_not_silently_accepted(formulation):
    assert not np.isfinite(accelerations(Proximal)[formulation]["singular recursive paper"]).all()
