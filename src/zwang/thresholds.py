"""Sizes below which numbers count as zero or as equal, each relative to what it is compared with.
What one method alone decides by is a field of that method, or stands in its file with its reason.
"""

LAST_DIGIT = 1e-15
"""Round-off of a few operations, relative to their terms: several units in the last place of
float64. No iteration comes closer, and a target of this size ends it where round-off does."""
ROUND_OFF = 1e-14
"""Round-off of some tens of operations, relative to their terms: a residual of a solved equation,
an entry that is zero but for how it was computed."""
FACTOR_ROUND_OFF = 1e-13
"""Round-off of a factorization of rows at unit length: a damping of this size changes nothing that
is not round-off, and keeps factors of dependent rows finite."""
SOLUTION_ERROR = 1e-12
"""Part of its terms that a solved problem of forces and impulses may leave: a hundred times
`ROUND_OFF`, as its rows may be many and dependent."""
CONVERGED = 1e-11
"""What Newton's iteration may leave where it no longer improves what it has found: a dimensionless
violation (an angle), the round-off of φ in coordinates up to 1e4 times the size of the mechanism; a
correction; a force beside the forces that there are. Where there are many rows, `LAST_DIGIT` of
their own coordinates counts as none, too."""
AT_INSTANT = 1e-11
"""What is off by this part of the whole motion at the instant of an event is met there: a hundred
times what the instant is found to."""
RESOLVED = 1e-10
"""Part of a size below which a difference is not resolved: what is left of a long computation, such
as an integration, at whatever tolerance; an effect beside others; a sum beside its terms; a time
beside the time that it is at, in which float64 tells a million instants apart."""
AGREEMENT = 1e-9
"""Two numbers that should be equal agree, and a part of something is none, up to this: far above
round-off of long computations, and far below what any tolerance of a run leaves. A certified
solution leaves 1e-15 of the terms of ordinary rows and up to 1e-13 in long chains; rows that
contradict each other leave their own disagreement."""
DERIVED = 1e-7
"""What derivatives say at a state that an iteration has found, an eigenvalue, a stiffness, a rate,
is zero up to this part of the others: the state is known to `AGREEMENT` or worse."""
ROOT_OF_ROUND_OFF = 1e-8
"""Double zeros are found to this, the root of the round-off of what is zero there."""
ACCEPTED_VIOLATION = 1e-6
"""Largest violation [dimensionless: an angle, or a fraction of the speed] of a start that a run
accepts by default, and that a step of fixed length may leave after its projection; what may be left
of forces where no violation is known."""
ALL_BUT_ZERO = 1e-6
"""Part of its usual size below which a singular value, a row, a form or a difference is lost:
halfway, in digits, between round-off and what is ordinary. A double eigenvalue, known to 1e-8, is
one up to this."""
DEFAULT_RTOL = 1e-8
"""Error that a step may make, relative to the motion, unless a run asks for another one; an
acceleration with a larger one has fewer digits than that."""
SINGULAR_ROWS = RESOLVED**0.5
"""Singular value of rows at unit length below which they have lost a direction: there the sweeps of
`Proximal`, whose damping is its square, correct none of it."""
SHORT_WAY = 1e-4
"""Part of a typical length or time along which what lies ahead is looked at: what is of its second
order is `ROOT_OF_ROUND_OFF`, and along a shorter one round-off decides."""
SMALL_PART = 1e-3
"""What is this part of its usual size is small, and far from round-off: rows that are nearly
parallel, a row that vanishes, an inertia about a thin axis, an energy that was to stay. A number
that is raised to this part of others costs three digits at most."""
MARGIN = 10.0
"""Estimates of one size, and residuals beside a violation, differ by less than this factor: what is
larger by it is something else, and what is smaller by it counts for nothing."""
ALIKE = 1e-5
"""What is nearer to each other than this part of its size may be one: eigenvalues that round-off
splits by a root, a place that a homotopy has found and its solution, directions of random motions
that are known to 1e-7."""
LEAST_SIZE, LARGEST_SIZE = 1e-100, 1e100
"""Masses, rows, sizes and times beyond these are refused: half of float64's exponents are left for
their squares and for what they are multiplied by."""
