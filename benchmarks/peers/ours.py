"""zwang: the problems as plain functions of q, `zw.simulate` with its defaults."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.equations import equations
from benchmarks.peers.peer import ENOUGH, Outcome, Peer
from benchmarks.peers.problems import GROUND, Linkage, Problem, RodChain, instants


class Zwang(Peer):
    key, title, package, module = "zwang", "zwang", "zwang", "zwang"
    how = (
        "zw.simulate with its defaults (Dopri8, projection of every stage), constraints as plain "
        "functions"
    )
    knob = "rtol"
    compiles = True

    def settings(self, problem):
        # as many as other programs have steps
        return (1e-4, 1e-6, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9, 1e-10, 1e-12)

    def prepare(self, problem, setting):
        import zwang as zw
        from zwang.cli.startup import start_jax

        start_jax()
        model, e = model_of(problem), equations(problem)
        times = instants(problem)
        self.last = None

        def go():
            self.last = zw.simulate(model, e.q0, e.v0, times=times, rtol=setting)
            return Outcome(self.last.q, self.last.v)

        return go

    def evaluation(self, problem):
        """A, b by automatic differentiation, their factor and v̇, compiled; the path is the one it
        chooses by itself.
        """
        from benchmarks.timing import accelerations
        from zwang.cli.startup import start_jax

        start_jax()
        model, q = model_of(problem), np.asarray(problem.pose).ravel()
        seconds = accelerations(model.dynamics(), model.state(q, np.asarray(problem.rate).ravel()))
        count = max(2, int(ENOUGH / (min(seconds(5) / 5, seconds(1)) + 1e-7)))
        return "acceleration", lambda: seconds(count) / count

    def extra(self, problem, setting):
        return {
            "steps": int(self.last.attrs["steps_accepted"]),
            "rejected": int(self.last.attrs["steps_rejected"]),
        }


class ZwangCompiled(Zwang):
    key, title = "zwang-compiled", "zwang, compiled whole"
    how = "zw.program of zw.trajectory, for many runs: start and loop in one program"

    def settings(self, problem):
        return (1e-6, 1e-7, 1e-8, 1e-10)

    def prepare(self, problem, setting):
        import jax.numpy as jnp

        import zwang as zw
        from zwang.cli.startup import start_jax

        start_jax()
        model, e = model_of(problem, self.points), equations(problem, self.points)
        times, rtol = instants(problem), np.asarray(setting)

        def run(q, v, rtol):
            found = zw.trajectory(model, q, v, times, rtol=rtol)
            return *e.poses(found.q, found.v, jnp), found.steps, found.rejected, found.result

        program = zw.program(run)

        def go():
            q, v, *self.last = program(e.q0, e.v0, rtol)
            result = zw.errors.Result(int(self.last[-1]))
            if result.is_failure:
                raise RuntimeError(result.sentence)
            return Outcome(np.asarray(q), np.asarray(v))

        return go

    def evaluation(self, problem):
        return None

    def extra(self, problem, setting):
        return {"steps": int(self.last[0]), "rejected": int(self.last[1])}


class ZwangPoints(ZwangCompiled):
    key, title, points = "zwang-points", "zwang, natural coordinates", True
    how = f"the linkage in natural coordinates; {ZwangCompiled.how}"

    def settings(self, problem):
        return (1e-6, 1e-7, 1e-8, 3e-9, 1e-9, 1e-10)


def model_of(problem: Problem, points: bool = False):
    """The model, written as a user would; of a linkage in natural coordinates if `points`."""
    import jax.numpy as jnp

    import zwang as zw

    if points:
        return _in_points(problem)
    e = equations(problem)
    if isinstance(problem, RodChain):
        M, weight, square = jnp.asarray(e.M), jnp.asarray(e.weight), problem.length**2

        def lengths(q, t, p):
            r = q.reshape(-1, 3)
            return jnp.sum(jnp.diff(r, axis=0, prepend=jnp.zeros((1, 3))) ** 2, axis=1) - square

        system = zw.System(e.n, lambda q, t, p: M, lambda q, v, t, p: weight)
        return zw.Model(system, [zw.Holonomic(lengths, name="rods")], name=problem.key)
    mass, weight = jnp.asarray(e.mass), jnp.asarray(e.weight)
    if problem.point_mass:
        system = zw.System(2, lambda q, t, p: mass, lambda q, v, t, p: weight)
        return zw.Model(
            system, [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")], name=problem.key
        )
    system = zw.System(e.n, lambda q, t, p: mass, _force(problem, weight))
    return zw.Model(system, [zw.Holonomic(_pins(problem), name="pins")], name=problem.key)


def _force(problem: Linkage, weight):
    import jax.numpy as jnp

    if not problem.sines:
        return lambda q, v, t, p: weight
    bodies, amplitude, frequency, phase = (np.array(x) for x in zip(*problem.sines, strict=True))
    return lambda q, v, t, p: weight.at[3 * bodies + 2].add(
        amplitude * jnp.sin(frequency * t + phase)
    )


def _pins(problem: Linkage):
    """φ of all pins at once; the ground is a body that stands still."""
    import jax.numpy as jnp

    first, second = (np.array([getattr(p, k) for p in problem.pins]) for k in ("first", "second"))
    at_first, at_second = (
        np.array([getattr(p, k) for p in problem.pins], float) for k in ("at_first", "at_second")
    )
    bodies, grounded = len(problem.mass), GROUND in (*first, *second)
    first, second = (np.where(x == GROUND, bodies, x) for x in (first, second))

    def phi(q, t, p):
        pose = q.reshape(-1, 3)
        pose = jnp.concatenate([pose, jnp.zeros((1, 3))]) if grounded else pose
        c, s = jnp.cos(pose[:, 2]), jnp.sin(pose[:, 2])
        place = lambda i, at: (
            pose[i, :2]
            + jnp.stack(
                [c[i] * at[:, 0] - s[i] * at[:, 1], s[i] * at[:, 0] + c[i] * at[:, 1]], axis=1
            )
        )
        return (place(first, at_first) - place(second, at_second)).ravel()

    return phi


def _in_points(problem: Linkage):
    """Lengths between the two points of each body, and further points where the body has them."""
    import jax.numpy as jnp

    import zwang as zw

    e = equations(problem, points=True)
    M, weight = jnp.asarray(e.M), jnp.asarray(e.weight)

    def apart(q):
        r = jnp.concatenate([q.reshape(-1, 2), e.known])
        return r[e.second] - r[e.first]

    def force(q, v, t, p):
        if not problem.sines:
            return weight
        bodies, amplitude, frequency, phase = (
            np.array(x) for x in zip(*problem.sines, strict=True)
        )
        d, torque = apart(q)[bodies], amplitude * jnp.sin(frequency * t + phase)
        pull = (torque / e.square[bodies])[:, None] * jnp.stack([-d[:, 1], d[:, 0]], axis=1)
        pairs = (
            jnp.zeros((e.n // 2 + len(e.known), 2))
            .at[e.second[bodies]]
            .add(pull)
            .at[e.first[bodies]]
            .add(-pull)
        )
        return weight + pairs.ravel()[: e.n]

    rows = [zw.Holonomic(lambda q, t, p: jnp.sum(apart(q) ** 2, axis=1) - e.square, name="lengths")]
    if len(e.linear):
        rows.append(zw.Holonomic(lambda q, t, p: e.linear @ q + e.constant, name="further points"))
    return zw.Model(zw.System(e.n, lambda q, t, p: M, force), rows, name=problem.key)
