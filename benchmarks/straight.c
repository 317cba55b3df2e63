/* The same operations as one acceleration of zwang's dense path, as straight as C allows: no
   library, no allocation.

   five_bar: A and b by hand; C = A M^-1/2, C Ct + mu I = L Lt, three sweeps,
             v' = a + M^-1/2 Ct lambda.
   pendulum: the same for a point mass on a rod in the plane.
   Each runs `count` times, the argument of one hanging on the result of the one before. */

#include <math.h>

static void solve(int m, double L[][16], const double *r, double *x) {
    double y[16];
    for (int i = 0; i < m; i++) {
        double s = r[i];
        for (int k = 0; k < i; k++) s -= L[i][k] * y[k];
        y[i] = s / L[i][i];
    }
    for (int i = m - 1; i >= 0; i--) {
        double s = y[i];
        for (int k = i + 1; k < m; k++) s -= L[k][i] * x[k];
        x[i] = s / L[i][i];
    }
}

static void constrained(int m, int n, double C[][16], const double *b, const double *free,
                        const double *root, double *out) {
    double G[16][16], L[16][16], r[16], lambda[16] = {0}, longest = 1e-280;
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            double s = 0;
            for (int k = 0; k < n; k++) s += C[i][k] * C[j][k];
            G[i][j] = G[j][i] = s;
            if (i == j && s > longest) longest = s;
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            double s = G[i][j] + (i == j ? 1e-10 * longest : 0);
            for (int k = 0; k < j; k++) s -= L[i][k] * L[j][k];
            L[i][j] = i == j ? sqrt(s) : s / L[j][j];
        }
    for (int i = 0; i < m; i++) {
        double s = b[i];
        for (int k = 0; k < n; k++) s -= C[i][k] * root[k] * free[k];
        r[i] = s;
    }
    for (int sweep = 0; sweep < 3; sweep++) {
        double rest[16], more[16];
        for (int i = 0; i < m; i++) {
            double s = r[i];
            for (int k = 0; k < m; k++) s -= G[i][k] * lambda[k];
            rest[i] = s;
        }
        solve(m, L, rest, more);
        for (int i = 0; i < m; i++) lambda[i] += more[i];
    }
    for (int k = 0; k < n; k++) {
        double s = 0;
        for (int i = 0; i < m; i++) s += C[i][k] * lambda[i];
        out[k] = free[k] + s / root[k];
    }
}

void five_bar(const double *q0, const double *mass, int count, double *out) {
    static const double offset[3] = {-1, 0, 1};
    double root[12], free[12] = {0};
    for (int k = 0; k < 12; k++) {
        root[k] = sqrt(mass[k]);
        free[k] = k % 3 == 1 ? -9.81 : 0;
        out[k] = 0;
    }
    for (int turn = 0; turn < count; turn++) {
        double q[12], C[12][16] = {{0}}, b[12] = {0};
        for (int k = 0; k < 12; k++) q[k] = q0[k] + 1e-30 * out[k];
        double sk = sin(q[11]), ck = cos(q[11]);
        for (int i = 0; i < 3; i++) {
            double s = 0.5 * sin(q[3 * i + 2]), c = 0.5 * cos(q[3 * i + 2]);
            int r = 4 * i, x = 3 * i;
            C[r][x] = C[r + 1][x + 1] = C[r + 2][x] = C[r + 3][x + 1] = 1;
            C[r][x + 2] = s, C[r + 1][x + 2] = -c, C[r + 2][x + 2] = -s, C[r + 3][x + 2] = c;
            C[r + 2][9] = C[r + 3][10] = -1;
            C[r + 2][11] = offset[i] * sk, C[r + 3][11] = -offset[i] * ck;
        }
        for (int i = 0; i < 12; i++)
            for (int k = 0; k < 12; k++) C[i][k] /= root[k];
        constrained(12, 12, C, b, free, root, out); /* at rest b = 0 */
    }
}

void pendulum(const double *q0, double mass, int count, double *out) {
    double root[2] = {sqrt(mass), sqrt(mass)}, free[2] = {0, -9.81};
    out[0] = out[1] = 0;
    for (int turn = 0; turn < count; turn++) {
        double q[2] = {q0[0] + 1e-30 * out[0], q0[1] + 1e-30 * out[1]}, b[1] = {0};
        double C[1][16] = {{2 * q[0] / root[0], 2 * q[1] / root[1]}};
        constrained(1, 2, C, b, free, root, out);
    }
}
