//! Medians, intervals, and other statistics.

use std::time::Duration;

/// The middle and the ends of some figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The middle one; the mean of the two middle ones of an even number.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Returns the statistics of `figures`, or `None` if there are no figures.
    pub(crate) fn of_any(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
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
}

/// Returns the 95 % interval of the median from which `figures` are drawn. It goes by ranks, so any
/// distribution will do. `None` of fewer than six figures.
pub(crate) fn median_interval(figures: &[f64]) -> Option<(f64, f64)> {
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

/// Returns the percentile of the sorted values, or zero if there are none.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank.min(last)).copied().unwrap_or_default()
}

/// Returns a short time in µs.
pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns a long time in ms.
pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns a count as a figure.
pub fn whole(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns a text of three digits, with `k` or `M` for the rest.
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
        let spread = |median, min, max| Some(Spread { median, min, max });
        assert_eq!(Spread::of_any([3.0, 1.0, 2.0]), spread(2.0, 1.0, 3.0));
        assert_eq!(Spread::of_any([4.0, 1.0, 2.0, 3.0]), spread(2.5, 1.0, 4.0));
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
