"""Open chains by the product of exponentials, compared with independent equations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from zwang.bodies import Link, OpenChain, prismatic, revolute
from zwang.bodies.rotation import from_axis_angle, rotation_matrix
from zwang.bodies.screws import adjoint, bracket, exponential, inverse

RANDOM = np.random.default_rng(7)
LENGTHS, LONGEST = (3, 4, 5, 6), 6


def matrix(twist):
    """ξ̂, 4 × 4."""
    v, (x, y, z) = twist[:3], twist[3:]
    return np.block([[np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), v[:, None]], [np.zeros(4)]])


def random_links(n):
    """A chain of both kinds of joint, off all axes, and its joints as (turns, direction, point)."""
    links, joints = [], []
    for i in range(n):
        turns, direction, point, center = (
            RANDOM.random() < 0.6 or i == 0,
            *RANDOM.standard_normal((3, 3)),
        )
        half = RANDOM.standard_normal((3, 3))
        joint = revolute(direction, point) if turns else prismatic(direction)
        links.append(
            Link(
                f"link {i}",
                joint,
                0.5 + RANDOM.random(),
                center,
                half @ half.T / 3 + 0.1 * np.eye(3),
            )
        )
        joints.append((float(turns), direction / np.linalg.norm(direction), point))
    return links, joints


def energies(q, v, t, p):
    """Kinetic and potential energy, `T = ½ Σ tr(ġ Σ ġᵀ)` with each link's second moments Σ of mass
    (4 × 4), about the base's origin at
    q = 0; rotations by quaternions, velocities by jvp.
    """

    def placed(q):
        R = rotation_matrix(from_axis_angle(p["direction"], q * p["turns"]))
        shift = (
            p["point"]
            - jnp.einsum("lij,lj->li", R, p["point"])
            + p["direction"] * (q * (1 - p["turns"]))[:, None]
        )
        each = (
            jnp.zeros((len(q), 4, 4))
            .at[:, :3, :3]
            .set(R)
            .at[:, :3, 3]
            .set(shift)
            .at[:, 3, 3]
            .set(1.0)
        )
        return jax.lax.scan(lambda g, e: (g @ e, g @ e), jnp.eye(4), each)[1]

    g, rate = jax.jvp(placed, (q,), (v,))
    return 0.5 * jnp.sum((rate @ p["moments"]) * rate), -jnp.sum(
        (g @ p["moments"])[:, :3, 3] @ p["gravity"]
    )


def second_moments(p):
    """`[[∫ x xᵀ dm, m c], [m cᵀ, m]]` of links with inertia J about c: ∫ x xᵀ dm = ½ tr(J) 1 − J +
    m c cᵀ.
    """
    c = np.concatenate([p["center"], np.ones((*p["center"].shape[:-1], 1))], axis=-1)
    moments = p["mass"][..., None, None] * c[..., :, None] * c[..., None, :]
    J = p["inertia"]
    moments[..., :3, :3] += 0.5 * np.trace(J, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - J
    return moments


@pytest.fixture(scope="module")
def arm():
    """One of five joints, with a tool, and a state."""
    links, _ = random_links(5)
    chain = OpenChain(links, tool=(0.3, -0.2, 0.9), gravity=(1.0, 2.0, -9.0))
    return (
        chain,
        jnp.asarray(RANDOM.standard_normal(5)),
        jnp.asarray(RANDOM.standard_normal(5)),
        as_arrays(chain.params),
    )


def as_arrays(params):
    return {name: jnp.asarray(value) for name, value in params.items()}


def quick(function, *arguments):
    return jax.jit(function, compiler_options=QUICK)(*arguments)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.4, -3.0, 40.0])
def test_exponentials_are_those_of_matrices(angle):
    """Revolute, prismatic, and one that advances along its axis, which is a screw of both."""
    twists = np.array(
        [
            revolute((1, -2, 0.5), (0.3, 0.1, -0.7)),
            prismatic((0.2, 1, 3)),
            [0.1, 0.2, 0.5, 0, 0.6, 0.8],
        ]
    )
    for twist, g in zip(twists, exponential(twists, np.full(3, angle)), strict=True):
        np.testing.assert_allclose(g, scipy.linalg.expm(matrix(twist) * angle), atol=1e-13)


def test_adjoint_carries_twists_as_the_motion_does():
    """`(Ad_g ξ)^ = g ξ̂ g⁻¹`; the bracket is its derivative."""
    g = exponential(revolute((1, 2, 3), (0.5, 0, 1)), 0.8) @ exponential(prismatic((0, 1, 1)), -0.3)
    a, b, _ = RANDOM.standard_normal((3, 6))
    np.testing.assert_allclose(
        g @ matrix(a) @ inverse(g), matrix(np.asarray(adjoint(g) @ a)), atol=1e-14
    )
    np.testing.assert_allclose(
        matrix(a) @ matrix(b) - matrix(b) @ matrix(a), matrix(np.asarray(bracket(a, b))), atol=1e-14
    )


@pytest.mark.slow
def test_random_chains_move_as_their_energy_says():
    """M v̇ = F of `zw.Lagrangian`, from energies that know no twist; chains of 3 to 6 joints, the
    shorter ones with links without
    mass at their ends, so that one program serves all.
    """
    made = [random_links(LONGEST) for _ in LENGTHS]
    chains = [OpenChain(links, gravity=(0.5, -1.0, -9.81)) for links, _ in made]
    p = {k: np.stack([chain.params[k] for chain in chains]) for k in chains[0].params}
    for i, length in enumerate(LENGTHS):
        p["mass"][i, length:], p["inertia"][i, length:] = 0.0, 0.0
    turns, direction, point = (
        np.array([[joint[i] for joint in joints] for _, joints in made]) for i in range(3)
    )
    q, v = RANDOM.standard_normal((2, len(LENGTHS), LONGEST))
    geometry, system = {"turns": turns, "direction": direction, "point": point}, chains[0].system
    lagrangian = zw.Lagrangian(
        lambda q, v, t, p: energies(q, v, t, p)[0],
        lambda q, t, p: energies(q, 0 * q, t, p)[1],
        nq=LONGEST,
    )

    def both(q, v, p, joints):
        t = jnp.zeros(())
        return [
            (
                s.mass_matrix(q, t, p | joints),
                s.force(q, v, t, p | joints),
                s.potential(q, t, p | joints),
            )
            for s in (lagrangian, system)
        ]

    expected, got = quick(jax.vmap(both), q, v, p, geometry | {"moments": second_moments(p)})
    for there, here in zip(expected, got, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-10, atol=1e-10)
    assert 0 < turns[:, :3].mean() < 1  # both kinds of joint
    for M, length in zip(got[0], LENGTHS, strict=True):
        assert np.linalg.matrix_rank(M) == length


@pytest.mark.slow
def test_coriolis_matrix_gives_the_forces_of_newton_and_euler(arm):
    """Two roads to C v + G; and the slopes of M by the paper's formula are those of automatic
    differentiation.
    """
    chain, q, v, p = arm

    def program(q, v, p):
        C, G = chain.coriolis(q, v, p), chain.gravity(q, p)
        slopes = jax.jacfwd(lambda q: chain.mass_matrix(q, p))(q)
        return C, G, C @ v + G - chain.bias(q, v, p), chain.mass_slopes(q, p) - slopes, slopes @ v

    C, G, forces, slopes, rate = quick(program, q, v, p)
    np.testing.assert_allclose(forces, 0, atol=1e-12)
    np.testing.assert_allclose(slopes, 0, atol=1e-12)
    np.testing.assert_allclose((rate - 2 * C) + (rate - 2 * C).T, 0, atol=1e-12)  # Ṁ − 2C is skew
    assert np.abs(rate - 2 * C).max() > 1
    np.testing.assert_allclose(
        G, jax.grad(lambda q: chain.system.potential(q, 0.0, p))(q), atol=1e-12
    )


def test_jacobians_are_the_twists_of_the_links(arm):
    """Spatial: `ĝ̇ g⁻¹`, body: `g⁻¹ ġ`; joints beyond a link do not move it."""
    chain, q, v, p = arm

    def program(q, v, p):
        twists = []
        for pose, jacobian in (
            (lambda q: chain.pose(q, "link 2", p), chain.body_jacobian(q, "link 2", p)),
            (lambda q: chain.tool(q, p), chain.tool_jacobian(q, p)),
        ):
            g, rate = jax.jvp(pose, (q,), (v,))
            twists.append((g, rate, jacobian))
        return twists, chain.spatial_jacobian(q, 2, p), chain.spatial_jacobian(q, 4, p)

    ((g, rate, body), (tool, tool_rate, tool_body)), spatial, last = quick(program, q, v, p)
    np.testing.assert_allclose(inverse(g) @ rate, matrix(np.asarray(body @ v)), atol=1e-13)
    np.testing.assert_allclose(rate @ inverse(g), matrix(np.asarray(spatial @ v)), atol=1e-13)
    np.testing.assert_allclose(
        inverse(tool) @ tool_rate, matrix(np.asarray(tool_body @ v)), atol=1e-13
    )
    np.testing.assert_allclose(tool_rate @ inverse(tool), matrix(np.asarray(last @ v)), atol=1e-13)
    assert not np.any(spatial[:, 3:])
    assert np.abs(last[:, 3:]).max() > 0.1


def test_mass_matrix_is_the_sum_over_body_jacobians(arm):
    """Eq. (24), (18): M = Σ J_lᵀ M_l J_l."""
    chain, q, _, p = arm
    J = quick(lambda q, p: jnp.stack([chain.body_jacobian(q, l, p) for l in range(5)]), q, p)
    M = sum(
        j.T @ scipy.linalg.block_diag(m * np.eye(3), inertia) @ j
        for j, m, inertia in zip(J, p["mass"], p["inertia"], strict=True)
    )
    np.testing.assert_allclose(quick(chain.mass_matrix, q, p), M, atol=1e-12)


def test_further_forces_and_springs_add_up(arm):
    chain, q, v, p = arm
    damped = OpenChain(
        chain.links,
        gravity=(1.0, 2.0, -9.0),
        force=lambda q, v, t, p: -v,
        potential=lambda q, t, p: q @ q,
    )
    change = quick(
        lambda q, v, p: damped.system.force(q, v, 0.0, p) - chain.system.force(q, v, 0.0, p),
        q,
        v,
        p,
    )
    np.testing.assert_allclose(change, -v - 2 * q, atol=1e-12)
    assert np.isclose(damped.system.potential(q, 0.0, p), chain.system.potential(q, 0.0, p) + q @ q)


def test_a_chain_is_a_system_for_a_model():
    """A pendulum of one joint, whose coordinate is named and has its unit."""
    chain = OpenChain([Link("swing", revolute((0, -1, 0)), 2.0, (0.0, 0.0, -0.5), (0.0, 0.1, 0.0))])
    model = zw.Model(chain.system, params=chain.params)
    acceleration = zw.motion(model, q=[0.3], v=[0.0]).acceleration
    np.testing.assert_allclose(
        acceleration, -2 * 9.81 * 0.5 * np.sin(0.3) / (0.1 + 2 * 0.25), rtol=1e-13
    )
    assert (model.system.coordinates, model.system.units) == (("swing",), ("rad",))
    np.testing.assert_allclose(
        chain.point(jnp.array([np.pi / 2]), "swing", (0, 0, -0.5), model.params),
        [1, 0, 0],
        atol=1e-15,
    )


LINK = Link("a", prismatic((0, 0, 1)), 1.0, (0, 0, 0), (1, 1, 1))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: revolute((0, 0, 0)), "has no direction"),
        (lambda: prismatic((0, 1)), "expected three finite numbers"),
        (lambda: OpenChain([]), "no bodies"),
        (lambda: OpenChain([LINK, LINK]), "'a' is used 2 times"),
        (
            lambda: OpenChain([Link("a", (0, 0, 0, 0, 0, 2), 1.0, (0, 0, 0), (1, 1, 1))]),
            "no twist of a revolute or prismatic",
        ),
        (lambda: OpenChain([Link("a", LINK.joint, -1.0, (0, 0, 0), (1, 1, 1))]), "mass -1 kg"),
        (lambda: OpenChain([Link("a", LINK.joint, 1.0, (0, 0), (1, 1, 1))]), "center of link 'a'"),
        (
            lambda: OpenChain([LINK], tool=np.ones((4, 4))),
            "expected a place of three numbers or a rigid motion",
        ),
        (
            lambda: OpenChain([LINK]).pose(jnp.zeros(1), "b", {}),
            "there is no body 'b'; there are: a",
        ),
    ],
)
def test_a_wrong_chain_is_told_in_a_sentence(make, says):
    with pytest.raises(zw.ModelError, match=says):
        make()
