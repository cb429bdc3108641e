//! Medians, intervals, and other statistics.

use std::fmt;
use std::time::Duration;

/// The middle and the ends of some figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle one; the mean of the two middle ones of an even number.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The statistics of `figures`, which must not be empty.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        Self::of_any(figures).expect("a spread of something")
    }

    /// The statistics of `figures`; `None` if there are no figures.
    pub fn of_any(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = sorted[(sorted.len() - 1) / 2];
        Some(Self {
            median: f64::midpoint(lower, upper),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
        })
    }

    /// The statistics of the ratios: each round's figure divided by the other's figure of that round.
    pub fn of_ratios(ours: &[f64], theirs: &[f64]) -> Self {
        Self::of(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs))
    }
}

/// `1.42 (1.38–1.51)`
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2}–{:.2})", self.median, self.min, self.max)
    }
}

/// The interval that has the median of what `figures` are drawn from, in 95 of 100 cases. It goes by ranks, so any
/// distribution will do. `None` of fewer than six figures.
pub fn median_interval(figures: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    // How many figures are below the median is binomial: a coin is tossed for each. `exactly` is the logarithm of
    // the chance of `rank` such figures, and `fewer` is the chance of fewer.
    let (mut rank, mut fewer) = (0, 0.0);
    let mut exactly = whole(sorted.len()) * 0.5_f64.ln();
    while rank < sorted.len() && fewer + exactly.exp() <= 0.025 {
        fewer += exactly.exp();
        exactly += (whole(sorted.len() - rank) / whole(rank + 1)).ln();
        rank += 1;
    }
    (rank > 0).then(|| (sorted[rank - 1], sorted[sorted.len() - rank]))
}

/// The value below which `percent` of 100 of the sorted `values` lie; zero where there are none.
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank.min(last)).copied().unwrap_or_default()
}

/// In µs, as the tables show short times.
pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// In ms, as the tables show long ones.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A count, as a figure.
pub(crate) fn whole(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// A time that was measured in µs, in figures that a person can compare at a glance.
pub(crate) fn brief_micros(micros: f64) -> String {
    if micros < 1e3 {
        format!("{} µs", brief(micros))
    } else {
        format!("{} ms", brief(micros / 1e3))
    }
}

/// In figures that a person can compare at a glance: three digits, and `k` or `M` for the rest.
pub(crate) fn brief(figure: f64) -> String {
    let (scaled, suffix) = match figure.abs() {
        large if large >= 1e6 => (figure / 1e6, " M"),
        large if large >= 1e3 => (figure / 1e3, " k"),
        _ => (figure, ""),
    };
    let decimals = match scaled.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.decimals$}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        let odd = Spread::of([3.0, 1.0, 2.0]);
        assert_eq!((odd.median, odd.min, odd.max), (2.0, 1.0, 3.0));
        assert!((Spread::of([4.0, 1.0, 2.0, 3.0]).median - 2.5).abs() < f64::EPSILON);
        assert_eq!(
            Spread::of_ratios(&[2.0, 9.0], &[1.0, 3.0]).to_string(),
            "2.50 (2.00–3.00)"
        );
    }

    #[test]
    fn the_median_interval_leaves_a_fortieth_at_each_end() {
        let figures = |count: u32| -> Vec<f64> { (1..=count).rev().map(f64::from).collect() };
        // From the tables of the sign test.
        assert_eq!(median_interval(&figures(5)), None);
        assert_eq!(median_interval(&figures(6)), Some((1.0, 6.0)));
        assert_eq!(median_interval(&figures(20)), Some((6.0, 15.0)));
        assert_eq!(median_interval(&figures(60)), Some((22.0, 39.0)));
        assert_eq!(median_interval(&figures(2_000)), Some((956.0, 1_045.0)));
    }

    #[test]
    fn three_digits_are_enough() {
        let shown = [0.85, 7.0, 12.34, 345.6, 6_789.0, 98_765.0, 1_234_567.0].map(brief);
        let expected = ["0.85", "7.00", "12.3", "346", "6.79 k", "98.8 k", "1.23 M"];
        assert_eq!(shown, expected);
        assert_eq!([386.0, 1_234.0].map(brief_micros), ["386 µs", "1.23 ms"]);
        assert_eq!(Spread::of_any([]), None);
    }

    #[test]
    fn percentiles_by_nearest_rank() {
        let sorted: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&sorted, 50), Duration::from_millis(100));
        assert_eq!(percentile(&sorted, 99), Duration::from_millis(198));
        assert_eq!(percentile(&sorted, 100), Duration::from_millis(200));
        assert_eq!(percentile(&sorted[..1], 99), Duration::from_millis(1));
        assert_eq!(percentile(&[], 50), Duration::ZERO);
    }
}
