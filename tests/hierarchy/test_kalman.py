"""The recursion equals a Kalman filter of a static state from another package."""

import numpy as np
import pytest
from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

import zwang as zw

from .problems import REFERENCE, at_rest, fixed


@pytest.mark.parametrize("r", [0.0, 1e-2])
def test_rows_are_measurements_of_a_static_state(r):
    """Mean and covariance after every level. The filter inverts, so without noise it does not get
    the dependent last row of level 2.
    """
    x, model = REFERENCE["fixed_problem"], fixed()
    enforced = zw.enforce(
        model, *at_rest(model), clearance={name: r for name in "123"} if r else None
    )
    rows = [
        (row, b, level)
        for level in (1, 2, 3)
        for row, b in zip(x[f"A{level}"], x[f"b{level}"], strict=True)
    ]
    rows = rows if r else [rows[i] for i in (0, 1, 2, 4)]
    M = np.array(x["M"])
    n = len(rows)
    design, noise = np.array([row for row, _, _ in rows]).T[None].copy(), np.full((1, 1, n), r)
    filtered = KalmanFilter(
        k_endog=1, k_states=6, transition=np.eye(6), selection=np.eye(6), state_cov=np.zeros((6, 6))
    )
    filtered.bind(np.array([b for _, b, _ in rows]))
    filtered["design"], filtered["obs_cov"] = design, noise
    filtered.initialize_known(np.linalg.solve(M, x["f"]), np.linalg.inv(M))
    found = filtered.filter()
    for number, level in enumerate(enforced.levels, start=1):
        last = max(i for i, (_, _, of) in enumerate(rows) if of == number)
        assert np.allclose(level.acceleration, found.filtered_state[:, last], rtol=0, atol=1e-12)
        assert np.allclose(
            level.covariance, found.filtered_state_cov[:, :, last], rtol=0, atol=1e-12
        )
