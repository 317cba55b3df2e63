"""A run with a scene, with compiler settings for short programs that compile quickly."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.scene import Bar, Mark, Plate, Scene, Seen


def swung(q):
    q = np.asarray(q)
    at = np.zeros_like(q)
    return Seen(np.stack([at, q, 0.5 * q + 0.2 * q[:, ::-1]], axis=1))


@pytest.fixture
def opened_page(browser):
    """A function that opens a file in the browser, whose page must not complain."""
    pages = []

    def opened(path):
        page = browser.new_page(viewport={"width": 800, "height": 600})
        page.set_default_timeout(20_000)
        page.complaints = []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield opened
    for page in pages:
        assert not page.complaints
        page.close()


@pytest.fixture(scope="session")
def pendulum():
    """A pendulum swinging through two seconds, and its scene."""
    system = zw.System(
        2,
        mass_matrix=lambda q, t, p: jnp.ones(2),
        force=lambda q, v, t, p: jnp.array([0.0, -9.81]),
        coordinates=["x", "y"],
        units=["m", "m"],
    )
    model = zw.Model(
        system, [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")], name="<pendulum>"
    )
    scene = Scene(
        ("pivot", "mass", "aside"),
        swung,
        (Bar(("pivot", "mass"), "rod"), Bar(("pivot", "aside"), kind="spring")),
        (Plate(("pivot", "mass", "aside"), "rod"),),
        (Mark("hinge", "pivot", grounded=True), Mark("rod", "mass", "ball")),
        traces=("mass",),
        forces=lambda run: np.stack(
            [sign * run.dataset["constraint_force"].sel(constraint="rod") for sign in (-1, 1)],
            axis=1,
        ),
    )
    return zw.simulate(model, [1.0, 0.0], [0.0, 0.0], duration=2.0, rtol=1e-8, samples=41), scene
