//! What one holder is going to do: drawn at random.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use redlock_runtime::parameters::OnLost;
use serde::{Deserialize, Serialize};

use crate::options::{Options, resource_name};

pub(crate) const SHORTEST_TTL: Duration = Duration::from_millis(300);
/// The registry's `max_ttl` as well.
pub(crate) const LONGEST_TTL: Duration = Duration::from_secs(3);

/// How many permits a resource has for those that want one of several.
pub(crate) const PERMITS: u32 = 3;

/// How long callers of a rush hold a lock: for longer than a streak, so that each holder has to release it.
const RUSH_HOLD: Duration = Duration::from_millis(50);

/// Longer than a rush.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most names of one lock.
const MOST_NAMES: u32 = 3;

/// Which kind of lock the holder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    Plain,
    Sets,
    Permit,
    Reader,
    Writer,
    /// A term of an election.
    Office,
}

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

/// The holder is held up between the requests and the look at the answers, also for longer than the
/// lock lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    Acquisition(Duration),
    Extension(Duration),
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    names: Vec<String>,
    /// The names that it asks for: others than `names` if the soak is sabotaged.
    pub(crate) locked: Vec<String>,
    pub(crate) style: Style,
    pub(crate) ttl: Duration,
    pub(crate) is_fenced: bool,
    /// Renewal up to here.
    pub(crate) max_hold: Option<Duration>,
    /// A part of the ttl.
    pub(crate) min_validity: f64,
    pub(crate) retries: u32,
    /// In place of the retries.
    pub(crate) wait: Option<Duration>,
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
    /// The caller goes away after a while, wherever it is by then.
    pub(crate) cut: Option<Duration>,
    /// Before the next one.
    pub(crate) pause: Duration,
}

impl Plan {
    pub(crate) fn draw(rng: &mut StdRng, options: &Options) -> Self {
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
        let kind = match rng.random_range(0..100) {
            _ if options.wants_permits => Kind::Permit,
            0..15 => Kind::Sets,
            15..35 => Kind::Permit,
            35..60 => Kind::Reader,
            60..72 => Kind::Writer,
            72..78 => Kind::Office,
            _ => Kind::Plain,
        };
        let names = draw_names(rng, kind, options.resources);
        let mut locked = names.clone();
        if options.is_sabotaged {
            let own = rng.random::<u64>();
            locked = names.iter().map(|name| format!("{name}:{own}")).collect();
        }
        Self {
            kind,
            names,
            locked,
            style: match rng.random_range(0..3) {
                0 => Style::Bare,
                1 => Style::Run,
                _ => Style::Attribute,
            },
            ttl,
            is_fenced: kind != Kind::Permit && rng.random_bool(0.8),
            max_hold,
            min_validity: if rng.random_bool(0.2) { 0.5 } else { 0.0 },
            retries: rng.random_range(0..6),
            wait: rng
                .random_bool(0.5)
                .then(|| Duration::from_millis(rng.random_range(1..1500))),
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
            cut: rng
                .random_bool(0.16)
                .then(|| Duration::from_micros(rng.random_range(0..40_000))),
            pause: Duration::from_micros(rng.random_range(0..10_000)),
        }
    }

    /// One of many callers in a rush, which waits for as long as it takes.
    pub(crate) fn patient(name: String, kind: Kind, is_fenced: bool) -> Self {
        Self {
            kind,
            names: vec![name.clone()],
            locked: vec![name],
            style: Style::Run,
            ttl: LONGEST_TTL,
            is_fenced,
            max_hold: None,
            min_validity: 0.0,
            retries: 0,
            wait: Some(PATIENCE),
            retry_delay: Duration::from_millis(100),
            stall: None,
            hold: RUSH_HOLD,
            extension: None,
            blocks: false,
            on_lost: OnLost::Cancel,
            ending: Ending::Release,
            cut: None,
            pause: Duration::ZERO,
        }
    }

    pub(crate) fn is_reader(&self) -> bool {
        self.kind == Kind::Reader
    }

    /// The names that only this holder has. Permit 0 is the plain lock.
    pub(crate) fn names_of(&self, permit: Option<u16>) -> Vec<String> {
        match permit {
            None | Some(0) => self.names.clone(),
            Some(permit) => {
                let names = self.names.iter();
                names.map(|name| format!("{name}#{permit}")).collect()
            }
        }
    }
}

/// Several names for a set, and one for any other kind of lock.
fn draw_names(rng: &mut StdRng, kind: Kind, resources: u32) -> Vec<String> {
    let first = rng.random_range(0..resources);
    let count = match kind {
        Kind::Sets => rng.random_range(1..=MOST_NAMES.min(resources)),
        _ => 1,
    };
    let step = match count {
        1 => 1,
        _ => rng.random_range(1..=(resources - 1) / (count - 1)),
    };
    let numbers = (0..count).map(|place| (first + place * step) % resources);
    numbers.map(resource_name).collect()
}

/// A ttl is whole milliseconds.
fn whole(ttl: Duration) -> Duration {
    Duration::from_millis(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
}
