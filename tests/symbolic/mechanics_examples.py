"""Systems from SymPy's documentation, for `sympy.physics.mechanics`."""

import sympy as sp
from sympy.physics.mechanics import (
    Force,
    KanesMethod,
    LagrangesMethod,
    Lagrangian,
    Particle,
    PinJoint,
    Point,
    PrismaticJoint,
    ReferenceFrame,
    RigidBody,
    System,
    dot,
    dynamicsymbols,
    inertia,
)

m, g, l, k, c, r = sp.symbols("m g l k c r")
VALUES = {m: 1.3, g: 9.81, l: 0.7, k: 5.0, c: 0.4, r: 0.5}


def spring_mass_damper():
    q, u = dynamicsymbols("q u")
    N, O = ReferenceFrame("N"), Point("O")
    O.set_vel(N, 0)
    P = Point("P")
    P.set_vel(N, u * N.x)
    kane = KanesMethod(N, [q], [u], [q.diff() - u])
    kane.kanes_equations([Particle("mass", P, m)], [(P, (-k * q - c * u) * N.x)])
    return kane, {s: VALUES[s] for s in (m, k, c)}


def rolling_disc_kane():
    """The disc of SymPy's documentation, in lean, spin and heading, without slip."""
    q1, q2, q3, u1, u2, u3 = dynamicsymbols("q1 q2 q3 u1 u2 u3")
    N = ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q1, N.z])
    L = Y.orientnew("L", "Axis", [q2, Y.x])
    R = L.orientnew("R", "Axis", [q3, L.y])
    R.set_ang_vel(N, u1 * L.x + u2 * L.y + u3 * L.z)
    contact, mass_center = Point("C"), None
    contact.set_vel(N, 0)
    mass_center = contact.locatenew("Dmc", r * L.z)
    mass_center.v2pt_theory(contact, N, R)
    I = inertia(L, m / 4 * r**2, m / 2 * r**2, m / 4 * r**2)
    # the rates of the angles from the angular velocity of the lean frame
    w = Y.ang_vel_in(N) + L.ang_vel_in(Y) + R.ang_vel_in(L)
    full = q1.diff() * N.z + q2.diff() * Y.x + q3.diff() * L.y
    rates = [dot(full - (u1 * L.x + u2 * L.y + u3 * L.z), axis) for axis in L]
    del w
    body = RigidBody("disc", mass_center, R, m, (I, mass_center))
    kane = KanesMethod(N, [q1, q2, q3], [u1, u2, u3], kd_eqs=rates)
    kane.kanes_equations([body], [(mass_center, -m * g * Y.z)])
    return kane, {s: VALUES[s] for s in (m, g, r)}


def pendulum_in_two_coordinates():
    """Kane's method with a configuration constraint and dependent speeds."""
    q1, q2, u1, u2 = dynamicsymbols("q1 q2 u1 u2")
    N = ReferenceFrame("N")
    pivot = Point("pivot")
    pivot.set_vel(N, 0)
    P = pivot.locatenew("P", q1 * N.x + q2 * N.y)
    P.set_vel(N, u1 * N.x + u2 * N.y)
    t = dynamicsymbols._t
    length = sp.Matrix([q1**2 + q2**2 - l**2])
    rate = length.diff(t).subs({q1.diff(t): u1, q2.diff(t): u2})
    kane = KanesMethod(
        N, q_ind=[q2], u_ind=[u2], q_dependent=[q1], u_dependent=[u1],
        kd_eqs=[q1.diff(t) - u1, q2.diff(t) - u2],
        configuration_constraints=length, velocity_constraints=rate,
    )  # fmt: skip
    kane.kanes_equations([Particle("bob", P, m)], [(P, m * g * N.x)])
    return kane, {s: VALUES[s] for s in (m, g, l)}


def knife_edge_kane():
    """A particle with a blade: a velocity that is no derivative of a configuration."""
    x, y, a, u1, u2, u3 = dynamicsymbols("x y a u1 u2 u3")
    N = ReferenceFrame("N")
    B = N.orientnew("B", "Axis", [a, N.z])
    B.set_ang_vel(N, u3 * N.z)
    P = Point("P")
    P.set_vel(N, u1 * N.x + u2 * N.y)
    slip = [-sp.sin(a) * u1 + sp.cos(a) * u2]
    t = dynamicsymbols._t
    kane = KanesMethod(
        N, q_ind=[x, y, a], u_ind=[u1, u3], u_dependent=[u2],
        kd_eqs=[x.diff(t) - u1, y.diff(t) - u2, a.diff(t) - u3], velocity_constraints=slip,
    )  # fmt: skip
    I = inertia(B, 0, 0, m * l**2)
    kane.kanes_equations([RigidBody("blade", P, B, m, (I, P))], [(P, m * g * N.x)])
    return kane, {s: VALUES[s] for s in (m, g, l)}


def spring_mass_lagrange():
    x = dynamicsymbols("x")
    N, P = ReferenceFrame("N"), Point("P")
    P.set_vel(N, x.diff() * N.x)
    mass = Particle("mass", P, m)
    mass.potential_energy = k * x**2 / 2
    loads = [(P, -c * x.diff() * N.x)]
    lagrange = LagrangesMethod(Lagrangian(N, mass), [x], forcelist=loads, frame=N)
    lagrange.form_lagranges_equations()
    return lagrange, {s: VALUES[s] for s in (m, k, c)}


def pendulum_lagrange():
    """Lagrange's method with a holonomic constraint."""
    q1, q2 = dynamicsymbols("q1 q2")
    L = m * (q1.diff() ** 2 + q2.diff() ** 2) / 2 + m * g * q1
    lagrange = LagrangesMethod(L, [q1, q2], hol_coneqs=[q1**2 + q2**2 - l**2])
    lagrange.form_lagranges_equations()
    return lagrange, {s: VALUES[s] for s in (m, g, l)}


def double_pendulum_lagrange():
    a, b = dynamicsymbols("a b")
    x1, y1 = l * sp.sin(a), -l * sp.cos(a)
    x2, y2 = x1 + l * sp.sin(b), y1 - l * sp.cos(b)
    t = dynamicsymbols._t
    kinetic = m * sum(e.diff(t) ** 2 for e in (x1, y1, x2, y2)) / 2
    lagrange = LagrangesMethod(kinetic - m * g * (y1 + y2), [a, b])
    lagrange.form_lagranges_equations()
    return lagrange, {s: VALUES[s] for s in (m, g, l)}


def cart_pendulum_system():
    """Joints: a cart on a track with a pendulum."""
    rail = RigidBody("rail")
    cart = RigidBody("cart", mass=m)
    bob = Particle("bob", mass=m)
    system = System.from_newtonian(rail)
    slider = PrismaticJoint("slider", rail, cart, joint_axis=rail.x)
    frame = ReferenceFrame("arm")
    arm = RigidBody("arm", frame=frame, mass=m)
    pin = PinJoint("pin", cart, arm, joint_axis=cart.z, child_point=l * frame.y)
    system.add_joints(slider, pin)
    del bob
    system.apply_uniform_gravity(-g * rail.y)
    system.form_eoms()
    values = {m: VALUES[m], g: VALUES[g], l: VALUES[l]}
    return system, values | {s: 0.2 for s in _inertias(cart, arm)}


def two_masses_on_one_track_system():
    """Joints with a holonomic constraint: two carts, a fixed distance apart."""
    rail, first, second = RigidBody("rail"), RigidBody("first", mass=m), RigidBody("second", mass=m)
    system = System.from_newtonian(rail)
    one = PrismaticJoint("one", rail, first, joint_axis=rail.x)
    two = PrismaticJoint("two", rail, second, joint_axis=rail.x)
    system.add_joints(one, two)
    system.add_loads(Force(first, -k * one.coordinates[0] * rail.x))
    system.add_holonomic_constraints(two.coordinates[0] - one.coordinates[0] - l)
    system.q_ind, system.q_dep = one.coordinates[:, 0], two.coordinates[:, 0]
    system.u_ind, system.u_dep = one.speeds[:, 0], two.speeds[:, 0]
    system.form_eoms()
    values = {s: VALUES[s] for s in (m, k, l)}
    return system, values | {s: 0.2 for s in _inertias(first, second)}


def _inertias(*bodies):
    return set().union(*(b.central_inertia.to_matrix(b.frame).free_symbols for b in bodies))


EXAMPLES = {
    f.__name__: f
    for f in (
        spring_mass_damper, rolling_disc_kane, pendulum_in_two_coordinates, knife_edge_kane,
        spring_mass_lagrange, pendulum_lagrange, double_pendulum_lagrange, cart_pendulum_system,
        two_masses_on_one_track_system,
    )
}  # fmt: skip
