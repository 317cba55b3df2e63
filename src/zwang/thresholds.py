"""Tolerances below which numbers count as zero or as equal, each relative to a reference quantity.
A tolerance that only one method uses is a field of that method, or a constant in its file.
"""

LAST_DIGIT = 1e-15
"""Round-off of a few operations, relative to their terms: several units in the last place of
float64. An iteration with this target stops only when round-off prevents further progress."""
ROUND_OFF = 1e-14
"""Round-off of some tens of operations, relative to their terms: the residual of a solved equation,
or an entry whose exact value is zero."""
FACTOR_ROUND_OFF = 1e-13
"""Round-off of a factorization of rows at unit length: a damping of this size changes the solution
by no more than round-off, and keeps the factors of dependent rows finite."""
SOLUTION_ERROR = 1e-12
"""Largest residual of a solved problem of forces or impulses, relative to its terms: a hundred
times `ROUND_OFF`, as the rows may be many and dependent."""
CONVERGED = 1e-11
"""Residual at which Newton's iteration counts as converged once it no longer improves: a
dimensionless violation (an angle), which is the round-off of φ in coordinates up to 1e4 times the
size of the mechanism; a correction; or a force relative to the acting forces. With many rows, a
violation of `LAST_DIGIT` relative to the row's own coordinates also counts as zero."""
AT_INSTANT = 1e-11
"""A condition counts as met at the instant of an event if its error there, relative to the whole
motion, is at most this: a thousand times the accuracy to which the instant is located."""
RESOLVED = 1e-10
"""Relative size below which a difference is not resolved: the error of a long computation, such as
an integration, at any tolerance; one effect relative to others; a sum relative to its terms; or a
time step relative to the time, where float64 resolves a million instants within such a step."""
AGREEMENT = 1e-9
"""Relative difference up to which two numbers agree, and relative size up to which a part counts as
zero: far above the round-off of long computations, and far below the error that any tolerance of a
run permits. The residual of a certified solution is 1e-15 of the terms for ordinary rows and up to
1e-13 in long chains; the residual of rows that contradict each other is their disagreement."""
DERIVED = 1e-7
"""A quantity that is computed from derivatives at the result of an iteration (an eigenvalue, a
stiffness, a rate) counts as zero up to this size relative to the others, because the state itself
is known only to `AGREEMENT` or worse."""
ROOT_OF_ROUND_OFF = 1e-8
"""Accuracy to which a double zero of a function can be located: the square root of the function's
round-off."""
ACCEPTED_VIOLATION = 1e-6
"""Largest violation [dimensionless: an angle, or a fraction of the speed] of a start that a run
accepts by default, and after the projection of a step of fixed length; also the largest relative
residual of forces where no violation is known."""
ALL_BUT_ZERO = 1e-6
"""Size, relative to the usual one, below which a singular value, a row, a form or a difference
counts as zero: halfway, in digits, between round-off and ordinary sizes. Eigenvalues that differ by
less are one multiple eigenvalue; round-off splits a double one by 1e-8."""
DEFAULT_RTOL = 1e-8
"""Default error tolerance of a step, relative to the motion. An acceleration with a larger error is
reported as less accurate than a run requires by default."""
SINGULAR_ROWS = RESOLVED**0.5
"""Singular value of rows at unit length below which the rows have lost a direction: the sweeps of
`Proximal`, whose damping is its square, correct nothing along that direction."""
SHORT_WAY = 1e-4
"""Length of a probing step along a path, relative to a typical length or time: its second-order
terms are `ROOT_OF_ROUND_OFF`, and with a shorter step round-off would dominate."""
SMALL_PART = 1e-3
"""Relative size that counts as small but is far from round-off: for nearly parallel rows, a
vanishing row, the inertia about a thin axis, the change of an energy that should be conserved.
Raising a number to this fraction of others costs at most three digits."""
MARGIN = 10.0
"""Factor by which estimates of one quantity, or residuals and a violation, may differ: a number
that is larger by more has another cause, and one that is smaller by more is negligible."""
ALIKE = 1e-5
"""Relative distance below which two results may be the same: eigenvalues that round-off has split
by its square root, an endpoint of a homotopy and its refined solution, or directions of random
motions, which are known to 1e-7."""
LEAST_SIZE, LARGEST_SIZE = 1e-100, 1e100
"""Bounds beyond which masses, rows, sizes and times are refused, so that their squares and products
stay within the exponents of float64."""
