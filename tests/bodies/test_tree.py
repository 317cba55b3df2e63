"""Trees in joint coordinates, compared with energies and derivatives of poses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.spatial.transform

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from zwang.bodies import BodyTree, Branch, ball, prismatic, revolute
from zwang.bodies.screws.twist import motion
from zwang.bodies.tree import equations, loops
from zwang.bodies.tree.branching import GROUND

RANDOM = np.random.default_rng(11)


def branch(name, parent, joints):
    half = RANDOM.standard_normal((3, 3))
    R = np.linalg.qr(half)[0]
    frame = np.asarray(
        motion(jnp.asarray(R * np.linalg.det(R)), jnp.asarray(RANDOM.standard_normal(3)))
    )
    return Branch(
        name,
        parent,
        joints,
        1 + RANDOM.random(),
        RANDOM.standard_normal(3),
        half @ half.T + np.eye(3),
        frame,
    )


def turned(vector):
    return scipy.spatial.transform.Rotation.from_rotvec(vector).as_matrix()


@pytest.fixture(scope="module")
def tree():
    """A tree with two branches, all joints, a body on two joints, one on none, given in an order
    that is no order.
    """
    axis, point = RANDOM.standard_normal((2, 6, 3))
    return BodyTree(
        [
            branch("hand", "arm", {"wrist": ball(point[0], turned(RANDOM.standard_normal(3)))}),
            branch(
                "trunk", None, {"lift": prismatic(axis[1]), "turn": revolute(axis[2], point[2])}
            ),
            branch("arm", "trunk", {"shoulder": revolute(axis[3], point[3])}),
            branch("tool", "hand", {}),
            branch("leg", "trunk", {"hip": revolute(axis[4], point[4])}),
        ],
        armature={"hip": 0.7},
    )


@pytest.fixture(scope="module")
def state(tree):
    q, v = RANDOM.standard_normal(tree.system.nq), RANDOM.standard_normal(tree.system.nv)
    wrist = tree.coordinate("wrist")
    q[wrist] /= np.linalg.norm(q[wrist])
    return jnp.asarray(q), jnp.asarray(v)


def test_coordinates_follow_the_tree(tree):
    assert [b.name for b in tree.branches] == ["trunk", "arm", "hand", "tool", "leg"]
    assert tree.joints == ("lift", "turn", "shoulder", "wrist", "hip")
    assert tree.system.units[:2] == ("m", "rad") and (tree.system.nq, tree.system.nv) == (8, 7)


@pytest.mark.slow
def test_kinetic_energy_is_that_of_the_moving_bodies_and_bias_has_its_power(tree, state):
    """T from the poses' rates by jvp; at v̇ = 0 the power of the bias is `h·v = dT/dt + dV/dt`."""
    q, v = state
    p = jax.tree.map(jnp.asarray, tree.params)

    def energies(q, v):
        rate = tree.system.rate(q, v, 0.0, p)
        poses, speeds = jax.jvp(lambda q: tree.poses(q, p), (q,), (rate,))
        home = jnp.linalg.inv(p["frame"])
        centers = jnp.concatenate([p["center"], jnp.ones((len(p["center"]), 1))], axis=1)
        J = p["mass"][:, None, None] * centers[:, :, None] * centers[:, None, :]
        J = J.at[:, :3, :3].add(
            0.5 * jnp.trace(p["inertia"], axis1=1, axis2=2)[:, None, None] * jnp.eye(3)
            - p["inertia"]
        )
        moving, placed = speeds @ home, poses @ home
        kinetic = 0.5 * jnp.sum((moving @ J) * moving) + 0.5 * jnp.sum(p["armature"] * v**2)
        return kinetic, -jnp.sum((placed @ J)[:, :3, 3] @ p["gravity"])

    def everything(q, v):
        power = jax.jvp(lambda q: sum(energies(q, v)), (q,), (tree.system.rate(q, v, 0.0, p),))[1]
        M, h = tree.mass_matrix(q, p), tree.bias(q, v, p)
        return (
            0.5 * v @ M @ v - energies(q, v)[0],
            h @ v - power,
            tree.system.potential(q, 0.0, p) - energies(q, v)[1],
        )

    for miss in jax.jit(everything, compiler_options=QUICK)(q, v):
        assert abs(miss) < 1e-11


def test_frame_jacobians_are_derivatives_of_poses(tree, state):
    q, v = state
    offset = jnp.array([0.3, -0.2, 0.5])

    def both(q, v):
        rate = tree.system.rate(q, v, 0.0, tree.params)
        place, speed = jax.jvp(lambda q: tree.point(q, "tool", offset, tree.params), (q,), (rate,))
        R, turning = jax.jvp(lambda q: tree.pose(q, "tool", tree.params)[:3, :3], (q,), (rate,))
        spin = turning @ R.T
        return jnp.concatenate(
            [speed, jnp.array([spin[2, 1], spin[0, 2], spin[1, 0]])]
        ), tree.frame_jacobian(q, "tool", tree.params, offset) @ v

    expected, got = jax.jit(both, compiler_options=QUICK)(q, v)
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_a_robot_far_away_has_the_digits_of_one_at_home():
    """Moments of inertia about the origin, m x², would lose eight digits here."""
    at_home = BodyTree(
        [
            branch("trunk", None, {"x": prismatic([1, 0, 0]), "ball": ball()}),
            branch("arm", "trunk", {"elbow": revolute([0, 1, 0], [0.2, 0, 0.1])}),
        ]
    )
    q, v = at_home.home, RANDOM.standard_normal(at_home.system.nv)
    q[-1] = 0.7
    away = q + 1e4 * (np.arange(len(q)) == 0)
    p = jax.tree.map(jnp.asarray, at_home.params)
    for f in (at_home.mass_matrix, lambda q, p: at_home.bias(q, v, p)):
        np.testing.assert_allclose(f(away, p), f(q, p), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "branches, sentence",
    [
        (
            [Branch("a", "b", {"x": revolute([0, 0, 1])}, 1, [0, 0, 0], [1, 1, 1])],
            "parent 'b'; there are: a",
        ),
        (
            [
                Branch(n, m, {n: revolute([0, 0, 1])}, 1, [0, 0, 0], [1, 1, 1])
                for n, m in ("ab", "ba")
            ],
            "circle",
        ),
        (
            [Branch(n, None, {"x": revolute([0, 0, 1])}, 1, [0, 0, 0], [1, 1, 1]) for n in "ab"],
            "joint name 'x' is used 2 times",
        ),
        ([Branch("a", None, {}, 1, [0, 0, 0], [1, 1, 1])], "no joints"),
    ],
)
def test_a_tree_that_is_none_is_refused(branches, sentence):
    with pytest.raises(zw.ModelError, match=sentence):
        BodyTree(branches)


@pytest.mark.slow
def test_inverse_dynamics_and_its_derivatives_are_those_of_the_equations(tree, state):
    """A ball joint, slides and hinges, a body between two joints; along velocities in q."""
    q, v = state
    p, a = tree.params, RANDOM.standard_normal(len(v))

    @jax.jit
    def found(q, v, a):
        return tree.inverse_dynamics(q, v, a, p), *tree.inverse_dynamics_derivatives(q, v, a, p)

    @jax.jit
    def expected(q, v, a):
        force = lambda q, v: differentiated_by_jax(tree, q, v, a, p)
        along = lambda x: force(tree.system.move(q, x, 0.0, p), v)
        by_q = jax.jacfwd(along)(jnp.zeros(len(v)))
        return force(q, v), by_q, jax.jacfwd(lambda v: force(q, v))(v)

    for ours, theirs in zip(found(q, v, a), expected(q, v, a), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12 * np.max(np.abs(theirs)))


def differentiated_by_jax(tree, q, v, a, p):
    """`M v̇ + h` by the matrix and Newton-Euler, without a rule for derivatives."""
    bias = equations.inverse_dynamics(tree.branching, q, v, None, p)
    return equations.mass_matrix(tree.branching, q, p) @ a + p["armature"] * a + bias


@pytest.mark.slow
@pytest.mark.parametrize(
    ("derivative", "twice"),
    [
        (jax.jacfwd, False),
        pytest.param(jax.jacfwd, True, marks=pytest.mark.slow),
        pytest.param(jax.jacrev, True, marks=pytest.mark.slow),
    ],
    ids=["once", "twice", "backward"],
)
def test_functions_of_a_tree_are_differentiated_in_closed_form(tree, state, derivative, twice):
    """By coordinates as they are (quaternions, whose length counts for nothing), velocities,
    accelerations and parameters; the bias, inverse dynamics and `M a`.
    """
    q, v = state
    p, a = tree.params, RANDOM.standard_normal(len(v))
    bias = lambda x: tree.system.force(x["q"], x["v"], 0.0, x["p"])
    whole = lambda x: tree.inverse_dynamics(x["q"], x["v"], x["a"], x["p"])
    inertia = lambda x: tree.system.mass_matrix.times(x["q"], 0.0, x["p"], x["a"])
    still, calm = {"v": jnp.zeros(len(v))}, {"a": jnp.zeros(len(v))}
    plain = lambda x: differentiated_by_jax(tree, x["q"], x["v"], x["a"], x["p"])
    floating = lambda x: {**x, "p": {**x["p"], "gravity": jnp.zeros(3)}}
    pairs = (
        (bias, lambda x: -plain({**x, **calm})),
        (whole, plain),
        (inertia, lambda x: plain({**floating(x), **still})),
    )
    given = {"q": q, "v": v, "a": a, "p": {k: jnp.asarray(x) for k, x in p.items()}}

    # a longer twist is none of a joint, for which alone a motion is the exponential of its twist
    along = {**given, "p": {**given["p"], "twist": jnp.zeros_like(p["twist"])}}

    def slopes(f):
        if not twice:
            return derivative(f)(given)
        by_q = lambda x: derivative(lambda q: f({**x, "q": q}))(x["q"])
        return jax.jvp(by_q, (given,), (along,))[1]

    for ours, theirs in pairs if twice else pairs[:1]:
        both = jax.jit(lambda f=ours, g=theirs: (slopes(f), slopes(g)), compiler_options=QUICK)
        found, expected = both()
        for x, y in zip(*map(jax.tree_util.tree_leaves, (found, expected)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12 * max(np.max(np.abs(y)), 1.0))


@pytest.mark.slow
def test_ends_of_loops_move_as_the_poses_of_their_bodies_say(tree, state):
    """Place, attitude, rates and second rates of pairs of bodies, one end on the ground, beside
    JAX's derivatives of all bodies' poses in space; with the tree's constants given and without.
    """
    q, v = state
    last = len(tree.branches) - 1
    ends = [(last, 0), (1, last), (GROUND, last)]
    made = [motion(turned(x[:3]), x[3:]) for x in RANDOM.uniform(-1, 1, (6, 6))]
    frames = np.asarray(made)
    whole = tree.equations.with_joint_numbers(tree.params)

    def apart(q, p):
        on_joints = loops.end_frames(tree.branching, ends, frames[:3], frames[3:], p)
        return loops.relative_poses(tree.branching, ends, q, on_joints, p)

    def by_poses(q, p):
        bodies = jnp.concatenate([tree.poses(q, p), jnp.eye(4)[None]])
        first, second = (bodies[np.array(x)] for x in zip(*ends, strict=True))
        both = jnp.linalg.inv(first @ frames[:3]) @ second @ frames[3:]
        return both[:, :3, 3], both[:, :3, :3]

    def twice(function, p):
        rate = lambda q: tree.system.rate(q, v, 0.0, p)
        once = lambda q: jax.jvp(lambda q: function(q, p), (q,), (rate(q),))
        return jax.jit(lambda q: jax.jvp(once, (q,), (rate(q),)), compiler_options=QUICK)(q)

    expected = jax.tree.leaves(twice(by_poses, tree.params))
    for p in (tree.params, whole):
        for ours, theirs in zip(jax.tree.leaves(twice(apart, p)), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12 * np.max(np.abs(theirs)))


def test_constants_of_a_tree_change_nothing(tree, state):
    q, v = state
    a, whole = RANDOM.standard_normal(len(v)), tree.equations.with_joint_numbers(tree.params)
    found, expected = (
        (tree.mass_matrix(q, p), tree.inverse_dynamics(q, v, a, p)) for p in (whole, tree.params)
    )
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


def test_parallel_hinges_have_axes_of_their_own_with_few_entries():
    """Their axis, oblique in the base's axes and round to its last digits in each, is one entry;
    nothing turns between them, and ways between them are across it.
    """
    axis, points = np.array([0.36, -0.48, 0.8]), RANDOM.standard_normal((4, 3))
    noise = 1 + 1e-16 * np.array([[0], [1], [-1], [2]])
    parents = [None, "0", "1", "1"]
    chain = BodyTree(
        [
            branch(str(k), parents[k], {f"hinge {k}": revolute(axis * noise[k], points[k])})
            for k in range(4)
        ]
    )
    known = chain.equations.with_joint_numbers(chain.params)["joints"]
    assert np.all(np.count_nonzero(known["axis"], axis=1) == 1)
    np.testing.assert_array_equal(known["turn"][1:], 0.0)
    assert np.all(np.count_nonzero(known["apart"][1:], axis=1) == 2)
