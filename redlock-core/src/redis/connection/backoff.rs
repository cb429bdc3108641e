//! The pauses between attempts to connect, and what ends them.

use std::time::Duration;

use rand::RngExt as _;

#[cfg(feature = "simulation")]
pub(in crate::redis) use crate::simulation::chance;

/// The first pause before another attempt to connect. It doubles up to [`LONGEST_PAUSE`].
pub(in crate::redis) const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The client notices within this time that a server is back.
pub(in crate::redis) const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// True if the node was dropped.
#[derive(Clone, Copy)]
pub(in crate::redis) struct HasEnded(pub(in crate::redis) bool);

/// Between half of `pause` and all of it, so that many clients do not reconnect in step.
pub(in crate::redis) fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(chance().random_range(0.5..=1.0))
}

/// The generator for choices that only have to be random. A simulation supplies its own.
#[cfg(not(feature = "simulation"))]
pub(in crate::redis) fn chance() -> impl rand::Rng {
    rand::rng()
}
