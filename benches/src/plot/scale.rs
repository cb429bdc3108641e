//! The scale of an axis.

/// How values become lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// For values that differ by orders of magnitude; begins at a power of ten.
    Logarithmic,
}

/// An axis that shows all of some values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
}

impl Axis {
    pub(super) fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            least = least.min(value);
            most = most.max(value);
        }
        if most <= 0.0 {
            (least, most) = (1.0, 1.0);
        }
        let (from, to) = match scale {
            Scale::Linear => (0.0, most * 1.02),
            // The shortest bar should still be a bar.
            Scale::Logarithmic => (10_f64.powf((least * 0.8).log10().floor()), most * 1.1),
        };
        Self { scale, from, to }
    }

    /// From 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => value / self.to,
            Scale::Logarithmic => {
                (value.max(self.from) / self.from).log10() / (self.to / self.from).log10()
            }
        };
        place.clamp(0.0, 1.0)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        let (mut tick, step) = match self.scale {
            Scale::Linear => (0.0, round_step(self.to / 6.0)),
            Scale::Logarithmic => (self.from, 0.0),
        };
        let mut ticks = Vec::new();
        while tick <= self.to {
            ticks.push(tick);
            match self.scale {
                Scale::Linear => tick += step,
                Scale::Logarithmic => tick *= 10.0,
            }
        }
        ticks
    }
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors.into_iter().find(|factor| factor * power >= step);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_begin_at_zero_and_have_round_ticks() {
        let axis = Axis::around(Scale::Linear, [0.9, 3.6].into_iter());
        assert_eq!(axis.ticks(), [0.0, 1.0, 2.0, 3.0]);
        assert!((axis.place(1.836) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn logarithmic_axes_have_a_tick_a_power() {
        let axis = Axis::around(Scale::Logarithmic, [25.0, 900.0].into_iter());
        assert_eq!(axis.ticks(), [10.0, 100.0]);
        assert!(axis.place(5.0).abs() < 1e-9 && axis.place(1e9) <= 1.0);
    }

    #[test]
    fn an_axis_of_nothing_is_an_axis() {
        let axis = Axis::around(Scale::Linear, std::iter::empty());
        assert!(axis.place(0.5) > 0.0 && !axis.ticks().is_empty());
    }
}
