//! What one holder is going to do: drawn at random.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use redlock_runtime::parameters::OnLost;

use crate::claimed::{Claimed, Kind};

pub(crate) const SHORTEST_TTL: Duration = Duration::from_millis(300);
/// The registry's `max_ttl` as well.
pub(crate) const LONGEST_TTL: Duration = Duration::from_secs(3);

/// How many permits a resource has for those that want one of several.
pub(crate) const PERMITS: u32 = 3;

/// How the lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A lease without a body.
    Bare,
    /// A body of the object style.
    Run,
    /// An annotated function.
    Attribute,
}

/// How the holder leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Release,
    /// Without waiting for the nodes.
    Drop,
    Panic,
}

/// The caller goes away after a while, wherever it is by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Drops the future, as a timeout does.
    Drop(Duration),
    /// Aborts the task.
    Abort(Duration),
}

/// The holder is held up between the requests and the look at the answers, also for longer than the
/// lock lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    Acquisition(Duration),
    Extension(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Retries(u32),
    Wait(Duration),
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) claimed: Claimed,
    pub(crate) style: Style,
    pub(crate) ttl: Duration,
    pub(crate) is_fenced: bool,
    /// Renewal up to here.
    pub(crate) max_hold: Option<Duration>,
    /// A part of the ttl.
    pub(crate) min_validity: f64,
    pub(crate) patience: Patience,
    pub(crate) retry_delay: Duration,
    pub(crate) stall: Option<Stall>,
    /// How long the work takes; also longer than the ttl.
    pub(crate) hold: Duration,
    /// Half-way through.
    pub(crate) extension: Option<Duration>,
    /// Blocks its thread instead of awaiting.
    pub(crate) blocks: bool,
    pub(crate) on_lost: OnLost,
    pub(crate) ending: Ending,
    pub(crate) cut: Option<Cut>,
    /// Before the next one.
    pub(crate) pause: Duration,
}

impl Plan {
    pub(crate) fn draw(rng: &mut StdRng, resources: u32) -> Self {
        // Short ones are more frequent, so that the resources stay hot.
        let ttl = LONGEST_TTL.mul_f64(0.1_f64.powf(rng.random_range(0.0..1.0)));
        let ttl = whole(ttl.clamp(SHORTEST_TTL, LONGEST_TTL));
        let max_hold = rng
            .random_bool(0.2)
            .then(|| ttl.mul_f64(rng.random_range(1.5..3.0)));
        let span = ttl.mul_f64(rng.random_range(0.5..1.5));
        let stall = match rng.random_range(0..100) {
            0..5 => Some(Stall::Acquisition(span)),
            5..10 => Some(Stall::Extension(span)),
            _ => None,
        };
        let hold = match rng.random_range(0..100) {
            // Whoever believes in a lease that is over has to stay to be found out.
            _ if stall.is_some() => ttl.mul_f64(rng.random_range(0.2..0.6)),
            0..90 => Duration::from_micros(rng.random_range(0..12_000)),
            90..96 => ttl.mul_f64(rng.random_range(0.0..0.9)),
            _ => max_hold.unwrap_or(ttl).mul_f64(rng.random_range(0.9..1.3)),
        };
        let cut_after = Duration::from_micros(rng.random_range(0..40_000));
        let kind = Kind::draw(rng);
        let claimed = kind.claim(rng, resources);
        let style = match rng.random_range(0..3) {
            0 => Style::Bare,
            1 => Style::Run,
            _ => Style::Attribute,
        };
        Self {
            kind,
            claimed,
            style,
            ttl,
            is_fenced: kind != Kind::Permit && rng.random_bool(0.8),
            max_hold,
            min_validity: if rng.random_bool(0.2) { 0.5 } else { 0.0 },
            patience: if rng.random_bool(0.5) {
                Patience::Retries(rng.random_range(0..6))
            } else {
                Patience::Wait(Duration::from_millis(rng.random_range(1..1500)))
            },
            retry_delay: Duration::from_millis(rng.random_range(2..60)),
            stall,
            hold,
            extension: (rng.random_bool(0.15) || matches!(stall, Some(Stall::Extension(_))))
                .then(|| whole(ttl.mul_f64(rng.random_range(0.9..1.5)).min(LONGEST_TTL))),
            blocks: rng.random_bool(0.02),
            on_lost: if rng.random_bool(0.3) {
                OnLost::Continue
            } else {
                OnLost::Cancel
            },
            ending: match rng.random_range(0..10) {
                0..6 => Ending::Release,
                6..9 => Ending::Drop,
                _ => Ending::Panic,
            },
            cut: match rng.random_range(0..100) {
                0..8 => Some(Cut::Drop(cut_after)),
                8..16 => Some(Cut::Abort(cut_after)),
                _ => None,
            },
            pause: Duration::from_micros(rng.random_range(0..10_000)),
        }
    }
}

/// A ttl is whole milliseconds.
fn whole(ttl: Duration) -> Duration {
    Duration::from_millis(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
}
