"""Code generation: the functions of a model as source or data for other programs.

| file | content |
|---|---|
| `functions.py` | the functions of generated code, as traced programs; models that it refuses |
| `names.py` | names of parameters for any language |
| `expression.py` | for formulas: scalar expressions as one shared graph |
| `interpreter.py`, `movement.py` | a traced program of JAX as expressions |
| `equations.py` | M, F, N, φ, ψ, A, b of a model, and its servo, as expressions |
| `samples.py` | random states, and the results of the numeric model there |
| `c/` | C99 without allocation: `c_code` |
| `fmu/` | functional mock-up units: `fmu` |
| `browser.py` | steps of a model as WebAssembly: `browser_program` |
| `linear.py` | linear systems in Python, C and Octave: `linear_code` |
| `casadi.py` | the equation of motion as a function of CasADi: `casadi_code` |
| `stablehlo.py` | the compiled evaluation by `jax.export`: `stablehlo` |
"""

from __future__ import annotations
