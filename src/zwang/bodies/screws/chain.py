"""Open chains of revolute and prismatic joints by the product of exponentials.

    P_l = e^(ξ̂₁q₁) … e^(ξ̂_l q_l)        the motion of link l since q = 0
    S_j = Ad_(P_j) ξ_j                   column j of the spatial Jacobian;
                                         ∂S_j/∂q_k = [S_k, S_j] for k < j
    𝓘_l = Ad_(P_l)⁻ᵀ 𝓜'_l Ad_(P_l)⁻¹     inertia of link l at its pose; 𝓘ᶜ_k = Σ_{l≥k} 𝓘_l
    M_ij = S_iᵀ 𝓘ᶜ_max(i,j) S_j          eq. (27), since A_li ξ_i = Ad_(P_l)⁻¹ S_i
    ∂M_ij/∂q_k = B_ikᵀ 𝓘ᶜ_max(j,k) S_j + (i ↔ j),    B_ik = [S_i, S_k] for i ≤ k, else 0; after (30)
    C_ij = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_kj/∂q_i) v_k      eq. (30); Ṁ − 2C is skew

All quantities are in space and computed for all joints at once, so that a program has the same size
for any number of joints; M and `C v + G` are those of a tree without branches
(`zwang.bodies.tree`). Equation numbers are those of the scara paper.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.body import by_name, entry, stacked
from zwang.bodies.screws.twist import adjoint, bracket, hat, inverse, motion
from zwang.bodies.tree import equations
from zwang.bodies.tree.branching import row
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.objects.display import present

UNIT_TWIST_ERROR = 1e-12
"""Largest deviation of ‖ω‖ of a joint's twist from 0 or 1: the round-off of normalizing it."""


@dataclasses.dataclass(frozen=True)
class Link:
    """A link with the joint that carries it, described in base axes at q = 0.

    Attributes:
        name: of the link, and of its joint's coordinate.
        joint: twist of the joint, shape (6,): `revolute(axis, point)` or `prismatic(direction)`.
        mass: mass [kg].
        center: center of mass at q = 0 [m], shape (3,).
        inertia: about the center of mass [kg·m²], in axes parallel to the base's at q = 0: three
            moments or a (3, 3) matrix.
    """

    name: str
    joint: Sequence | np.ndarray
    mass: float
    center: Sequence
    inertia: Sequence


class OpenChain:
    """Links in a row, each on a revolute or prismatic joint of the link before, the first on the
    ground: v = q̇.

        M(q) v̇ = F,    F = −C(q, v) v − ∂V/∂q + force

    All numbers are parameters, arrays with one entry per link, so that another robot with as many
    joints needs no compilation: `p["twist"]` (n, 6) with ‖ω‖ = 1 or 0; `p["mass"]` [kg], (n,);
    `p["center"]` [m], (n, 3); `p["inertia"]` [kg·m²], (n, 3, 3); `p["gravity"]` [m/s²], (3,);
    `p["tool"]` (4, 4). Places and inertias are those at q = 0, in base axes.

    Args:
        links: the links, from the ground on.
        tool: pose of the tool at q = 0: a place [m], shape (3,), or a rigid motion, shape (4, 4);
            it moves with the last link.
        gravity: acceleration of gravity [m/s²], shape (3,).
        force: `(q, v, t, p)` → further joint torques and forces [N·m, N], shape (n,); none by
            default.
        potential: `(q, t, p)` → further potential energy [J], e.g. of springs; its force is
            derived; none by default.

    Attributes:
        system: the `zw.System`.
        params: the parameters above, for `zw.Model` (possibly with further parameters of the
            model).

    Raises:
        ModelError: for no links, a repeated name, a twist that belongs to no joint, or a negative
            mass.

    Example:
        >>> shoulder, elbow = revolute((0, 0, 1)), revolute((0, 0, 1), (1, 0, 0))
        >>> upper = Link("upper", shoulder, 1.0, (0.5, 0, 0), (0, 0.1, 0.1))
        >>> fore = Link("fore", elbow, 1.0, (1.5, 0, 0), (0, 0.1, 0.1))
        >>> arm = OpenChain([upper, fore], tool=(2, 0, 0))
        >>> line = zw.Holonomic(lambda q, t, p: arm.tool(q, p)[1, 3] - 0.5, name="line")
        >>> model = zw.Model(arm.system, [line], arm.params)

    Reference: Murray, Li and Sastry (1994), A mathematical introduction to robotic manipulation,
        section 4.3.
    """

    def __init__(
        self,
        links: Sequence[Link],
        *,
        tool=(0.0, 0.0, 0.0),
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        force: Callable | None = None,
        potential: Callable | None = None,
    ):
        self.links = tuple(links)
        self._index = by_name(self.links)
        mass, inertia = stacked(self.links, (3, 3))
        self.params = {
            "twist": np.array([_twist(link) for link in self.links]),
            "mass": _masses(self.links, mass),
            "center": np.array(
                [_place(link.center, f"center of link {link.name!r}") for link in self.links]
            ),
            "inertia": inertia,
            "gravity": _place(gravity, "gravity"),
            "tool": _pose(tool),
        }
        self._applied, self._further, self._row = force, potential, row(len(self.links))
        self.system = System(
            len(self.links),
            lambda q, t, p: self.mass_matrix(q, p),
            self._force,
            potential=self._energy,
            coordinates=[link.name for link in self.links],
            units=["rad" if np.any(twist[3:]) else "m" for twist in self.params["twist"]],
        )

    def __repr__(self) -> str:
        return present("text_of", self, "bodies")

    # --- poses and velocities of the links; `link` is a name or index

    def motions(self, q: Float[Array, " n"], p) -> Float[Array, "n 4 4"]:
        """Return `P_l = e^(ξ̂₁q₁) … e^(ξ̂_l q_l)`, the motion of each link since q = 0."""
        return equations.motions(self._row, q, p)[:-1]

    def pose(self, q: Float[Array, " n"], link, p) -> Float[Array, "4 4"]:
        """Return the center of mass and axes of a link, eq. (15): g(q) = P_l g(0), where g(0) is
        parallel to the base.
        """
        l = entry(self._index, link)
        return self.motions(q, p)[l] @ motion(jnp.eye(3), p["center"][l])

    def point(self, q: Float[Array, " n"], link, offset, p) -> Float[Array, "3"]:
        """Return the place in space [m] of the point of a link at `offset` [m] from its center of
        mass, in its own axes.
        """
        g = self.pose(q, link, p)
        return g[:3, 3] + g[:3, :3] @ jnp.asarray(offset, float)

    def tool(self, q: Float[Array, " n"], p) -> Float[Array, "4 4"]:
        """Return the pose of the tool, eq. (38): g(q) = P_n g(0)."""
        return self.motions(q, p)[-1] @ p["tool"]

    def spatial_jacobian(self, q: Float[Array, " n"], link, p) -> Float[Array, "6 n"]:
        """Return J with J v the twist of a link in space, `ĝ̇ g⁻¹`: velocity of the point at the
        base's origin, angular velocity.
        """
        carried = (
            jnp.arange(len(self.links)) <= jnp.arange(len(self.links))[entry(self._index, link)]
        )
        return jnp.where(carried, self._screws(self.motions(q, p), p).T, 0.0)

    def body_jacobian(self, q: Float[Array, " n"], link, p) -> Float[Array, "6 n"]:
        """Return J with J v the twist of a link in its own axes, `g⁻¹ ġ`, eq. (16), (17): velocity
        of the center of mass, angular velocity.
        """
        return adjoint(inverse(self.pose(q, link, p))) @ self.spatial_jacobian(q, link, p)

    def tool_jacobian(self, q: Float[Array, " n"], p) -> Float[Array, "6 n"]:
        """Return the body Jacobian of the tool: J v is its velocity and angular velocity in its own
        axes.
        """
        return adjoint(inverse(self.tool(q, p))) @ self.spatial_jacobian(q, -1, p)

    # --- M, C and G

    def mass_matrix(self, q: Float[Array, " n"], p) -> Float[Array, "n n"]:
        """Return M [kg·m², kg·m, kg], eq. (27)."""
        return equations.mass_matrix(self._row, q, p)

    def mass_slopes(self, q: Float[Array, " n"], p) -> Float[Array, "n n n"]:
        """Return `∂M_ij/∂q_k`, the formula after eq. (30) with its bracket corrected."""
        S, H = self._momenta(q, p)
        B = bracket(S[:, None], S[None, :]) * jnp.triu(jnp.ones((len(S), len(S))))[..., None]
        half = jnp.einsum("ikx,jkx->ijk", B, H)
        return half + jnp.swapaxes(half, 0, 1)

    def coriolis(self, q: Float[Array, " n"], v: Float[Array, " n"], p) -> Float[Array, "n n"]:
        """Return C by Christoffel symbols, eq. (30): `C v` are the Coriolis and centrifugal forces,
        and `Ṁ − 2C` is skew.
        """
        slopes = self.mass_slopes(q, p)
        return 0.5 * (
            slopes @ v + jnp.einsum("ikj,k->ij", slopes, v) - jnp.einsum("kji,k->ij", slopes, v)
        )

    def gravity(self, q: Float[Array, " n"], p) -> Float[Array, " n"]:
        """Return G = ∂V/∂q of the links' weights [N·m, N], eq. (31)."""
        return self.bias(q, jnp.zeros_like(q), p)

    def bias(self, q: Float[Array, " n"], v: Float[Array, " n"], p) -> Float[Array, " n"]:
        """Return `C v + G` [N·m, N] by Newton's and Euler's equations
        (`zwang.bodies.tree.equations`), without the n³ Christoffel symbols.
        """
        return equations.inverse_dynamics(self._row, q, v, None, p)

    def _screws(self, P, p):
        """Return S_j, shape (n, 6)."""
        return jnp.einsum("jxy,jy->jx", adjoint(P), p["twist"])

    def _inertias(self, P, p):
        """Return 𝓘_l, shape (n, 6, 6), from (26): 𝓜' = [[m, −m ĉ], [m ĉ, J − m ĉ²]] at q = 0."""
        m, c = p["mass"][:, None, None], hat(p["center"])
        upper = jnp.concatenate([m * jnp.eye(3), -m * c], axis=2)
        home = jnp.concatenate(
            [upper, jnp.concatenate([m * c, p["inertia"] - m * c @ c], axis=2)], axis=1
        )
        # inertias are constant at q = 0; transformed with the motions, they are those of the links
        # at q
        back = adjoint(inverse(P))
        return jnp.swapaxes(back, 1, 2) @ home @ back

    def _momenta(self, q, p):
        """Return S, and `H_jk = 𝓘ᶜ_max(j,k) S_j`, shape (n, n, 6): momentum of the links from the
        farther of j and k on, per rate of joint j.
        """
        P = self.motions(q, p)
        S, n = self._screws(P, p), jnp.arange(len(self.links))
        composite = _from_tip(self._inertias(P, p))
        # all pairs at once: the program has the same size for any number of links
        every = jnp.einsum("kxy,jy->jkx", composite, S)
        return S, every[n[:, None], jnp.maximum(n[:, None], n)]

    # --- the free system

    def _force(self, q, v, t, p):
        F = -self.bias(q, v, p)
        F = F if self._applied is None else F + self._applied(q, v, t, p)
        return F if self._further is None else F - jax.grad(self._further)(q, t, p)

    def _energy(self, q, t, p):
        P = self.motions(q, p)
        centers = jnp.einsum("lxy,ly->lx", P[:, :3, :3], p["center"]) + P[:, :3, 3]
        weight = -jnp.sum(p["mass"] * (centers @ p["gravity"]))
        return weight if self._further is None else weight + self._further(q, t, p)


def _from_tip(x):
    """Return sums over the links from each one to the last."""
    return jnp.cumsum(x[::-1], axis=0)[::-1]


def _twist(link: Link) -> np.ndarray:
    twist = np.asarray(link.joint, float)
    turning = np.linalg.norm(twist[3:]) if twist.shape == (6,) else np.nan
    # this chain has no joint for a screw of finite pitch
    sliding = turning == 0 and abs(np.linalg.norm(twist[:3]) - 1) < UNIT_TWIST_ERROR
    along = abs(twist[:3] @ twist[3:]) if abs(turning - 1) < UNIT_TWIST_ERROR else np.inf
    if not (sliding or along <= UNIT_TWIST_ERROR * max(1.0, float(np.linalg.norm(twist[:3])))):
        raise ModelError(
            f"link {link.name!r} has the joint {link.joint!r}, which is no twist of a revolute "
            "or prismatic joint; give revolute(axis, point) or prismatic(direction)."
        )
    return twist


def _masses(links: Sequence[Link], mass: np.ndarray) -> np.ndarray:
    for link, value in zip(links, mass, strict=True):
        if not (np.isfinite(value) and value >= 0):
            raise ModelError(
                f"link {link.name!r} has mass {value:g} kg; expected a finite number that is "
                "not negative."
            )
    return mass


def _place(given, what: str) -> np.ndarray:
    place = np.asarray(given, float)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ModelError(f"the {what} is {given!r}, expected three finite numbers.")
    return place


def _pose(tool) -> np.ndarray:
    given = np.asarray(tool, float)
    if given.shape == (3,):
        given = np.block([[np.eye(3), _place(given, "tool")[:, None]], [np.zeros(3), 1.0]])
    right = given.shape == (4, 4) and np.allclose(
        given[:3, :3].T @ given[:3, :3], np.eye(3), rtol=0, atol=UNIT_TWIST_ERROR
    )
    if not (right and np.isfinite(given).all() and np.array_equal(given[3], [0, 0, 0, 1])):
        raise ModelError(
            f"the tool is {tool!r}, expected a place of three numbers or a rigid motion [[R, "
            "p], [0, 1]]."
        )
    return given
