//! The distributions the tests need: Student's t and the normal, by the incomplete beta function.
//!
//! Formulas are those of Abramowitz and Stegun, chapters 6, 7 and 26 (public domain), and the
//! continued fraction of DLMF 8.17.22.

use std::f64::consts::PI;

/// Logarithm of the gamma function for x > 0 (Stirling's series, A&S 6.1.41, after shifting the
/// argument above 12; relative error below 1e-14).
pub fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 12.0 {
        shift += x.ln();
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    let series = 1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z / 1188.0)));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series / x - shift
}

/// The regularised incomplete beta function I_x(a, b) for a, b > 0 and 0 <= x <= 1.
pub fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side only; the symmetry I_x(a,b) = 1 - I_{1-x}(b,a)
    // gives the other.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    front * beta_fraction(x, a, b)
}

/// The continued fraction 1/(1+ d1/(1+ d2/(1+ …))) by the modified Lentz method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let safe = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / safe(1.0 + coefficient * d);
            c = safe(1.0 + coefficient / c);
            step = c * d;
            value *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// Probability that |T| exceeds |t| for Student's t with `df` degrees of freedom (A&S 26.7.1).
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(df / (df + t * t), df / 2.0, 0.5)
}

/// The value Student's t does not exceed with probability `p` (0.5 <= p < 1), by bisection.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    let tail = 2.0 * (1.0 - p);
    let (mut low, mut high) = (0.0, 1.0);
    while t_two_sided(high, df) > tail && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if t_two_sided(middle, df) > tail { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Probability that |Z| exceeds |z| for a standard normal: Student's t with so many degrees of
/// freedom that the difference is below 1e-8.
pub fn normal_two_sided(z: f64) -> f64 {
    t_two_sided(z, 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance, "{got} is not {want}");
    }

    /// Gamma(n) is a factorial; Gamma(1/2) is the root of pi.
    #[test]
    fn gamma_at_known_points() {
        close(ln_gamma(1.0), 0.0, 1e-13);
        close(ln_gamma(5.0), 24.0f64.ln(), 1e-13);
        close(ln_gamma(0.5), PI.sqrt().ln(), 1e-13);
        close(ln_gamma(21.0), 2_432_902_008_176_640_000f64.ln(), 1e-12);
    }

    /// Closed forms: I_x(1, b) = 1 - (1-x)^b, I_x(a, 1) = x^a, I_0.5(a, a) = 0.5.
    #[test]
    fn incomplete_beta_at_closed_forms() {
        for x in [0.01, 0.3, 0.5, 0.77, 0.999] {
            close(incomplete_beta(x, 1.0, 3.0), 1.0 - (1.0f64 - x).powi(3), 1e-13);
            close(incomplete_beta(x, 4.5, 1.0), x.powf(4.5), 1e-13);
        }
        close(incomplete_beta(0.5, 7.5, 7.5), 0.5, 1e-13);
        assert_eq!((incomplete_beta(0.0, 2.0, 2.0), incomplete_beta(1.0, 2.0, 2.0)), (0.0, 1.0));
    }

    /// Upper critical values of Student's t, NIST/SEMATECH e-Handbook of Statistical Methods,
    /// section 1.3.6.7.2 (three decimals).
    #[test]
    fn student_table_of_the_nist_handbook() {
        for (df, p, want) in [
            (1.0, 0.90, 3.078),
            (1.0, 0.975, 12.706),
            (2.0, 0.975, 4.303),
            (3.0, 0.95, 2.353),
            (4.0, 0.975, 2.776),
            (5.0, 0.99, 3.365),
            (9.0, 0.975, 2.262),
            (10.0, 0.975, 2.228),
            (11.0, 0.995, 3.106),
            (30.0, 0.975, 2.042),
            (100.0, 0.975, 1.984),
        ] {
            close(t_quantile(p, df), want, 0.0006);
        }
        close(t_quantile(0.5, 7.0), 0.0, 1e-9);
    }

    /// The normal's 5 % and 1 % points: 1.959964 and 2.575829 (A&S table 26.5).
    #[test]
    fn normal_tails() {
        close(normal_two_sided(1.959_964), 0.05, 1e-6);
        close(normal_two_sided(2.575_829), 0.01, 1e-6);
        close(normal_two_sided(0.0), 1.0, 1e-9);
    }
}
