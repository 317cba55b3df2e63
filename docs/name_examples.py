"""An example beneath each public name of the reference: the pages whose code uses it, which every
build executes, or else a short program, which a test executes.
"""

import operator
import re
from pathlib import Path

import zwang as zw
from zwang.inputs.call import public_names

HERE = Path(__file__).parent
HEAD = """\
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
import zwang as zw
"""
PENDULUM = (
    HEAD
    + """
system = zw.System(
    nq=2, coordinates=("x", "y"), units=("m", "m"),
    mass_matrix=lambda q, t, p: jnp.ones(2),
    force=lambda q, v, t, p: jnp.array([p["push"], -9.81]),
    potential=lambda q, t, p: 9.81 * q[1],
)
rod = zw.Holonomic(lambda q, t, p: (q @ q - 1.0) / 2, name="rod", unit="m²")
model = zw.Model(system, [rod], {"push": 0.0}, name="pendulum")
q0, v0 = [1.0, 0.0], [0.0, 0.0]
"""
)
SERVO = (
    HEAD
    + """
cart = zw.System(
    2, lambda q, t, p: jnp.array([1.0, 0.5]), lambda q, v, t, p: jnp.zeros(2),
    coordinates=("cart", "load"), units=("m", "m"),
)
place = zw.Holonomic(lambda q, t, p: q[0] - 1.0, name="place")
"""
)
FOUR_BAR = (
    HEAD
    + """
from zwang.gallery.mechanisms import FOLDER
linkage = zw.mechanism.read(FOLDER / "four-bar.toml")
"""
)


def _one_run(option: str) -> str:
    return f"{PENDULUM}print(zw.simulate(model, q0, v0, duration=0.2, samples=3, {option}))\n"


def _one_instant(option: str) -> str:
    return f"{PENDULUM}print(zw.motion(model, [0.6, -0.8], [0.8, 0.6], {option}))\n"


def _one_control(options: str) -> str:
    return (
        f"{SERVO}servo = zw.Servo([place], np.eye(2), {options})\n"
        'print(zw.control(zw.Model(cart, name="cart"), servo, [0.9, 0.0], [0.0, 0.0]))\n'
    )


SOLVERS = (
    *("CompleteOrthogonal", "GramSchmidt", "Greville", "Householder", "Jacobi", "Proximal"),
    *("SVD", "Varga"),
)
FORMULATIONS = (
    *("Campbell", "CampbellSingular", "LagrangeMultipliers", "Nullspace", "UdwadiaKalaba"),
    "UdwadiaPhohomsiri",
)
EXAMPLES = {
    **{name: _one_instant(f"pseudoinverse=zw.methods.{name}()") for name in SOLVERS},
    **{name: _one_instant(f"formulation=zw.methods.{name}()") for name in FORMULATIONS},
    **{
        name: _one_run(f"integrator=zw.methods.{name}()")
        for name in ("Dopri8", "Kvaerno5", "Tsit5")
    },
    "Bosh3": _one_run("integrator=zw.methods.Bosh3()"),
    "Rattle": _one_run("integrator=zw.methods.Rattle(4), step=0.01"),
    "Moreau": _one_run("integrator=zw.methods.Moreau(), step=0.01"),
    "Sparse": _one_run("pseudoinverse=zw.methods.Sparse()"),
    "Stabilized": _one_run("drift=zw.methods.Stabilized(zw.methods.BaumgarteRates(10.0, 10.0))"),
    "BaumgarteRates": _one_run(
        "drift=zw.methods.Stabilized(zw.methods.BaumgarteRates(10.0, 10.0))"
    ),
    "BaumgarteGains": _one_run(
        "drift=zw.methods.Stabilized(zw.methods.BaumgarteGains(20.0, 100.0))"
    ),
    "Stop": _one_run('stop=[zw.Stop(lambda q, v, t, p: q[0] - 0.9, "at 0.9 m")]'),
    "FirstOrder": SERVO
    + """speed = zw.Nonholonomic(lambda q, v, t, p: v[0] - 1.0, name="speed")
servo = zw.Servo([speed], np.eye(2), gains=zw.servo.FirstOrder(2.0))
print(zw.control(zw.Model(cart, name="cart"), servo, [0.0, 0.0], [0.0, 0.0]))
""",
    "SecondOrder": _one_control("gains=zw.servo.SecondOrder(3.0, zeta=0.7)"),
    "Poles": _one_control("gains=zw.servo.Poles(2.0, 3.0)"),
    "Butterworth": _one_control("gains=zw.servo.Butterworth(3.0)"),
    "WeightedNorm": _one_control(
        "gains=3.0, null_space=zw.servo.WeightedNorm(np.array([1.0, 4.0]))"
    ),
    "Control": _one_control("gains=3.0"),
    "Motion": _one_instant("t=0.0"),
    "keep_programs": HEAD
    + """import tempfile
print(zw.keep_programs(tempfile.mkdtemp()) or "programs are kept")
zw.keep_programs(on=False)
""",
    "Run": PENDULUM
    + """run = zw.simulate(model, q0, v0, duration=1.0, samples=5)
print(run)
print(run.dataset.q.to_pandas())
print(run.at(0.37)[0])
""",
    "Crossing": HEAD
    + """run = zw.gallery.load("n-four-bar", N=1).run(duration=1.0)
for crossing in run.crossings:
    print(crossing.time, crossing.constraints)
""",
    "Switched": PENDULUM
    + """rope = zw.Switch("rod", on=lambda q, v, t, p: q @ q - 1.0)
run = zw.simulate(model, [0.6, 0.0], v0, duration=0.5, switches=[rope])
for switched in run.switches:
    print(switched)
""",
    "SimulationError": PENDULUM
    + """try:
    zw.simulate(model, q0, v0, duration=5.0, max_steps=20)
except zw.SimulationError as error:
    print(error.result.sentence)
    print(error.run)
""",
    "OutputError": PENDULUM
    + """run = zw.simulate(model, q0, v0, duration=0.2, samples=3)
try:
    run.save("/no such folder/run.nc")
except (zw.OutputError, zw.ModelError) as error:
    print(error)
""",
    "Batch": PENDULUM
    + """angles = np.linspace(-1.5, 1.5, 4)
starts = np.stack([np.cos(angles), np.sin(angles)], axis=1)
many = zw.batch(model, starts, v0, times=np.linspace(0.0, 1.0, 5))
print(many)
print(many.failures)
""",
    "Trajectory": PENDULUM + "print(zw.trajectory(model, q0, v0, np.linspace(0.0, 1.0, 5)))\n",
    "Fit": PENDULUM
    + """times = np.linspace(0.0, 1.0, 11)
seen = zw.trajectory(model, q0, v0, times, params={"push": 0.5}).q
found = zw.fit(model, times, {"x": seen[:, 0], "y": seen[:, 1]}, {"push": 0.1}, q0=q0, v0=v0)
print(found)
""",
    "FinalState": HEAD
    + """run = zw.gallery.load("bouncing-ball").run(duration=0.6)
end = zw.analysis.final_state(run)
print(end(run.q[0], run.v[0], {"restitution": 0.5}))
""",
    "Equilibrium": PENDULUM + "print(zw.analysis.equilibrium(model, [0.1, -1.0]))\n",
    "Linearization": PENDULUM
    + """linear = zw.analysis.linearize(model, [0.0, -1.0], inputs=["push"])
print(linear)
print(linear.A)
""",
    "Modes": PENDULUM + "print(zw.analysis.linearize(model, [0.0, -1.0]).modes())\n",
    "TimeVaryingLinearization": PENDULUM
    + """run = zw.simulate(model, q0, v0, duration=1.0, samples=5)
print(zw.analysis.linearize(model, run.q, run.v, t=run.t, inputs=["push"]))
""",
    "Regulator": PENDULUM
    + """linear = zw.analysis.linearize(model, [0.0, 1.0], inputs=["push"])
print(zw.analysis.lqr(linear, Q=1.0, R=0.1))
""",
    "Continuation": PENDULUM
    + 'print(zw.analysis.continuation(model, [0.0, -1.0], over="push", to=(0.0, 5.0)))\n',
    "Kinematics": FOUR_BAR
    + 'print(zw.analysis.kinematics(linkage, "A", (0.0, 1.0), samples=5, output="D"))\n',
    "DrivingTorque": FOUR_BAR
    + 'print(zw.analysis.driving_torque(linkage, "A", (0.0, 1.0), rate=6.0, samples=5))\n',
    "AssemblyModes": FOUR_BAR + 'print(zw.analysis.assembly_modes(linkage, {"A": 1.0}))\n',
    "AssemblyError": FOUR_BAR
    + """from zwang.mechanism import Joint, Link, Mechanism
apart = Mechanism(
    bodies={"bar": Link(length=1.0, guess=((0, 0), (1, 0)))},
    joints={
        "left": Joint("revolute", between=("ground", "bar.start")),
        "right": Joint("revolute", between=("ground.far", "bar.end")),
    },
    ground={"far": (3.0, 0.0)},
)
try:
    apart.start_state
except zw.mechanism.AssemblyError as error:
    print(error)
""",
    "mechanism": FOUR_BAR + "print(linkage)\n",
    "Branches": HEAD
    + """loops = zw.gallery.load("n-four-bar", N=1, gravity=0.0)
line = np.array([0.5, 0, 0, 1.5, 0, 0, 1.5, 0, 0.0])
found = zw.analysis.branches(loops.model, line)
print(found)
""",
    "Workspace": HEAD
    + """arm = zw.Model(
    zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2),
              coordinates=("shoulder", "elbow"), units=("rad", "rad")),
    name="arm",
)
def hand(q, t, p):
    a, b = q[0], q[0] + q[1]
    return jnp.stack([jnp.cos(a) + jnp.cos(b), jnp.sin(a) + jnp.sin(b)])
limits = {"shoulder": (0.0, 1.5), "elbow": (0.1, 2.5)}
print(zw.analysis.workspace(arm, limits, hand, q=[0.5, 1.0], samples=9))
""",
    "Design": FOUR_BAR
    + """from zwang.analysis.design_targets import StraightLine
print(zw.analysis.design(
    linkage, vary={"rocker": (2.3, 2.7)}, targets=[StraightLine("coupler.end")],
    input="A", over=(0.0, 1.0), trace="coupler.end", samples=7,
))
""",
    "KinematicsBatch": HEAD
    + """slider = zw.Model(
    zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2),
              coordinates=("crank", "slide"), units=("rad", "m")),
    [zw.Holonomic(lambda q, t, p: (q[1] - p["r"] * jnp.cos(q[0])) ** 2
                  + (p["r"] * jnp.sin(q[0])) ** 2 - 4.0, name="rod")],
    {"r": 1.0}, name="slider-crank",
)
radii = np.array([0.8, 1.0])
starts = np.stack([np.zeros(2), radii + 2.0], axis=1)
print(zw.analysis.kinematics_batch(slider, "crank", (0.0, 1.0), q=starts, params={"r":
radii}).ended)
""",
    "Enforced": HEAD
    + """lift = zw.gallery.load("scissor-lift")
print(zw.enforce(lift.model, lift.q0, lift.v0))
""",
    "Relation": HEAD
    + """track = zw.Relation(lambda x, t, p: x["x"][0] ** 2 + x["y"][0] ** 2 - 1.0, name="track")
tram = zw.HigherOrder(
    {"x": 2, "y": 2},
    mass_matrix=lambda x, t, p: jnp.ones(2), force=lambda x, t, p: jnp.array([0.0, -9.81]),
    relations=[track], name="tram",
)
print(tram)
""",
    "Sweep": HEAD
    + """pendulum = zw.gallery.load("pendulum")
start = lambda values: (np.array([values["length"], 0.0]), np.zeros(2))
found = zw.sweep(
    pendulum.model, {"length": [0.5, 1.0]}, start, duration=0.2, outputs={"lowest": "y.min"}
)
print(found)
print(found.dataset)
""",
    "cite": PENDULUM + "print(zw.cite(zw.simulate(model, q0, v0, duration=0.2, samples=3)))\n",
    "fmu": PENDULUM
    + """import tempfile
from zwang.codegen.c import compiler
if compiler():
    print(zw.fmu(model, q0, v0).write(tempfile.mkdtemp()).name)
""",
    "stablehlo": PENDULUM + "print(zw.stablehlo(model).text[:200])\n",
    "dynamic_extension": HEAD
    + """drone = zw.Model(
    zw.System(3, lambda q, t, p: jnp.array([1.5, 1.5, 0.1]),
              lambda q, v, t, p: jnp.array([0.0, -14.7, 0.0])), name="quadrotor",
)
rotors = lambda q, t, p: jnp.array([[-jnp.sin(q[2]), 0.0], [jnp.cos(q[2]), 0.0], [0.0, 1.0]])
path = [zw.Holonomic(lambda q, t, p: q[0] - t, name="x"),
        zw.Holonomic(lambda q, t, p: q[1], name="y")]
servo = zw.Servo(path, rotors, actuators=["thrust", "torque"], gains=4.0)
print(zw.servo.dynamic_extension(drone, servo, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]))
""",
    "base_parameters": HEAD
    + """model = zw.Model(
    zw.System(1, lambda q, t, p: p["inertia"] * jnp.ones(1),
              lambda q, v, t, p: -9.81 * p["moment"] * jnp.sin(q)),
    params={"inertia": 2.0, "moment": 0.5}, name="rod",
)
t = np.linspace(0.0, 2.0, 30)
q, v, a = (x[:, None] for x in (np.sin(t), np.cos(t), -np.sin(t)))
found = zw.analysis.base_parameters(model, ["inertia", "moment"], q, v, a, t, [[1.0]])
torque = 2.0 * a + 9.81 * 0.5 * np.sin(q)
print(found, found.identify(torque + 0.01 * np.random.default_rng(0).standard_normal(q.shape)))
""",
    "stable_inversion": HEAD
    + """mass = jnp.array([[3.0, 1.7], [1.7, 2.0]])
car = zw.Model(
    zw.System(2, lambda q, t, p: mass,
              lambda q, v, t, p: jnp.stack([0 * q[0], -5 * q[1] - 0.5 * v[1]])), name="car",
)
share = lambda x: x**4 * (35 - 84 * x + 70 * x**2 - 20 * x**3)
tip = zw.Holonomic(lambda q, t, p: q[0] + 1.6 * q[1] - share(jnp.clip(t, 0.0, 1.0)), name="tip")
servo = zw.Servo([tip], [[1.0], [0.0]], actuators=["push"])
print(zw.analysis.stable_inversion(car, servo, [0.0, 0.0], span=(0.0, 1.0), rtol=1e-6))
""",
    "optimal_control": HEAD
    + """cart = zw.Model(
    zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.zeros(1)), name="cart"
)
rest, there = ([0.0], [0.0]), ([1.0], [0.0])
print(zw.analysis.optimal_control(cart, rest, there, 1.0, inputs=[[1.0]], intervals=4))
""",
    "Phase": HEAD
    + """ball = zw.Model(
    zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.array([-9.81])),
    [zw.Inequality(lambda q, t, p: q[0], name="floor", restitution=0.8, unit="m")], name="ball",
)
phases = [zw.analysis.Phase((0.1, 2.0), rebounds="floor"), zw.analysis.Phase((0.1, 2.0))]
there = ([1.0], [0.0])
print(zw.analysis.optimal_control(ball, there, there, phases, inputs=[[1.0]], intervals=2))
""",
    "bodies": HEAD
    + """from zwang.bodies import Body, RigidBodies
body = RigidBodies([Body("plate", 2.0, (0.1, 0.1, 0.2))])
model = zw.Model(body.system, params=body.params, name="free plate")
print(zw.motion(model, [0, 0, 0, 1, 0, 0, 0.0], [0, 0, 0, 0.1, 0, 2.0]))
""",
    "testing": PENDULUM + "zw.testing.check_model(model, q0, v0)\n",
    "Robot": HEAD
    + """import tempfile
from pathlib import Path
file = Path(tempfile.mkdtemp()) / "arm.urdf"
file.write_text(
    '<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0.5 0 0"/>'
    '<mass value="1"/><inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial></link><joint name="hinge" type="continuous"><parent link="base"/>'
    '<child link="rod"/><axis xyz="0 1 0"/></joint></robot>'
)
try:
    print(zw.robot(file))
except zw.ModelError as error:  # where the extra "robots" is not installed
    print(error)
""",
}
SAME = {
    "kinematics_batch": "KinematicsBatch",
    "grid": "sampling",
    "sobol": "sampling",
    "draws": "sampling",
}
"""Names that the example of another one shows."""
EXAMPLES["sampling"] = (
    HEAD
    + """import scipy.stats

pendulum = zw.gallery.load("pendulum")
start = lambda values: (np.array([values["length"], 0.0]), np.zeros(2))
for sample in (zw.study.grid(), zw.study.sobol(4, seed=1), zw.study.draws(4, seed=1)):
    over = {"length": "0.5:1:2" if sample == zw.study.grid() else scipy.stats.uniform(0.5, 0.5)}
    print(zw.sweep(pendulum.model, over, start, duration=0.1, sample=sample))
"""
)


def pages() -> dict[str, list[str]]:
    """Public name → pages whose executed code uses it."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        cells = "\n".join(re.findall(r"```\{code-cell\}[^\n]*\n(.*?)```", text, re.DOTALL))
        imported = re.findall(r"from zwang[\w.]* import ([^\n]+)", cells)
        dotted = " ".join(re.findall(r"\bzw\.([\w.]+)", cells)).replace(".", " ")
        used = {*dotted.split(), *re.findall(r"\w+", " ".join(imported))}
        for name in used:
            found.setdefault(name, []).append(path.stem)
    return found


def public_object(name: str):
    """A public class or function by its last name; None for what is not public."""
    written = public_names().get(name)
    return written and operator.attrgetter(written.removeprefix("zw."))(zw)


def program(name: str) -> str | None:
    """The short program of a name, if it has one."""
    return EXAMPLES.get(SAME.get(name, name))


def show(app, what, name, obj, options, lines) -> None:
    """Add the example of a public name to its entry."""
    short = name.rpartition(".")[2]
    if what not in ("class", "function", "exception") or not (
        public_object(short) is obj or short in EXAMPLES
    ):
        return
    if used := pages().get(short):
        links = ", ".join(f":doc:`{page}`" for page in used[:6])
        lines += ["", f"Runs in: {links}", ""]
    elif text := program(short):
        lines += ["", ".. code-block:: python", "", *(f"    {x}" for x in text.splitlines()), ""]


def setup(app):
    # after napoleon, which would take a program for a section of its own
    app.connect("autodoc-process-docstring", show, priority=950)
    return {"parallel_read_safe": True}
