//! The faults, and what they show.

mod clocks;
mod crashes;
mod losers;
mod nodes;
mod times;

use std::error::Error;
use std::path::Path;

use crate::generations::Generation;
use crate::scene::Scene;

/// What a fault did to a generation, as it was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// In the table.
    pub(crate) mark: String,
    pub(crate) why: String,
}

impl Cell {
    /// It went well.
    pub(crate) fn survived(why: impl Into<String>) -> Self {
        Self::of("ok", why)
    }

    /// The fault cannot happen to this generation.
    pub(crate) fn not_applicable(why: impl Into<String>) -> Self {
        Self::of("–", why)
    }

    pub(crate) fn of(mark: impl Into<String>, why: impl Into<String>) -> Self {
        let (mark, why) = (mark.into(), why.into());
        Self { mark, why }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Crash,
    Refusal,
    Failure,
    Overrun,
    EqualTimes,
    Failover,
    NodeDown,
    NodeEmpty,
    Pause,
}

impl Fault {
    pub(crate) const ALL: [Self; 9] = [
        Self::Crash,
        Self::Failure,
        Self::Refusal,
        Self::Overrun,
        Self::EqualTimes,
        Self::Failover,
        Self::NodeDown,
        Self::NodeEmpty,
        Self::Pause,
    ];

    /// Head of its column.
    pub(crate) fn head(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Failure => "failed body",
            Self::Refusal => "refused caller",
            Self::Overrun => "long body",
            Self::EqualTimes => "equal times",
            Self::Failover => "failover",
            Self::NodeDown => "node dead",
            Self::NodeEmpty => "node empty",
            Self::Pause => "pause",
        }
    }

    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Crash => "A is killed before each of its commands, and in its body",
            Self::Failure => "A's body fails",
            Self::Refusal => "B holds the lock; C tries, and stops before each of its commands",
            Self::Overrun => "A's body takes longer than its ttl",
            Self::EqualTimes => "the clocks of A and B show one time when they lock",
            Self::Failover => "the master dies before it has replicated A's lock",
            Self::NodeDown => "one server dies while the lock is free",
            Self::NodeEmpty => "a server restarts without its data while A holds the lock",
            Self::Pause => "A stands still past its ttl, between its last check and its write",
        }
    }

    /// Lets the fault happen, on servers that are started for it.
    pub(crate) async fn happen(
        self,
        generation: Generation,
        program: &str,
        dir: &Path,
    ) -> Result<Cell, Box<dyn Error>> {
        let is_failover = self == Self::Failover;
        let scene = Scene::start(generation, is_failover, program, dir).await?;
        match self {
            Self::Crash => crashes::crash(&scene).await,
            Self::Failure => crashes::failure(&scene).await,
            Self::Refusal => losers::refusal(&scene).await,
            Self::Overrun => times::overrun(&scene).await,
            Self::EqualTimes => clocks::equal_times(&scene).await,
            Self::Failover => nodes::failover(scene).await,
            Self::NodeDown => nodes::node_down(scene).await,
            Self::NodeEmpty => nodes::node_empty(scene).await,
            Self::Pause => times::pause(&scene).await,
        }
    }
}
