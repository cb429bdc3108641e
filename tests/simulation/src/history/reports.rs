//! The reports of nodes to callers that wait for keys.

use std::time::Duration;

use redlock_core::Resource;
use redlock_core::node::{KeyReport, Remaining};
use redlock_core::quorum::majority;

use super::{History, Inner};
use crate::clock::SkewedClock;
use crate::world::{CallId, ProcessId};

/// The reports of the nodes to one watch of a call.
#[derive(Default)]
pub(crate) struct Told {
    /// Goes up with each watch.
    watch: u64,
    /// The highest seat that was asked to report to it.
    last_seat: usize,
    /// By seat.
    pub(crate) reports: Vec<Option<Report>>,
}

/// A watch of a call: the call, and which of its watches it is.
pub(crate) type Watching = (CallId, u64);

/// The last report of a node about the keys of a watch.
#[derive(Clone, Copy)]
pub(crate) struct Report {
    pub(crate) at: Duration,
    /// When it last saw them.
    pub(crate) seen_at: Duration,
    /// The common time from which on the keys are free.
    pub(crate) free_from: Option<Duration>,
}

impl History {
    /// Records that the polled call begins to watch at `seat`. Returns which of its watches it is.
    pub(crate) fn watches(&self, seat: usize) -> Option<Watching> {
        let call = self.world.call()?;
        let mut inner = self.lock();
        let told = &mut inner.calls[call].told;
        // A watch asks a majority of the seats, each once and in their order.
        if told.watch == 0 || seat <= told.last_seat {
            told.watch += 1;
            told.reports.clear();
        }
        told.last_seat = seat;
        Some((call, told.watch))
    }

    /// Records a node's report to a client about the keys of the watch `watching`.
    pub(crate) fn reported(
        &self,
        (process, watching): (ProcessId, Option<Watching>),
        (seat, clock): (usize, &SkewedClock),
        keys: &Resource,
        key_report: KeyReport,
    ) {
        let at = self.world.now();
        self.note(25, [process as u64, seat as u64], || {
            format!("c{process} hears of {keys:?} on n{seat}: {key_report:?}")
        });
        let free_from = match key_report {
            KeyReport::Free => Some(at),
            KeyReport::Held(Remaining::Expires(left)) => {
                Some(clock.common_time(clock.moment_at(at).saturating_add(left)))
            }
            _ => None,
        };
        let mut inner = self.lock();
        inner.coverage.told += u64::from(key_report != KeyReport::Unknown);
        inner.coverage.blinded += u64::from(key_report == KeyReport::Unknown);
        let nodes = self.rules.nodes.max(seat + 1);
        let heard = |known: &mut Vec<Option<Report>>| {
            known.resize(nodes, None);
            known[seat] = Some(Report::behind(known[seat], at, key_report, free_from));
        };
        heard(inner.reports.entry((process, keys.clone())).or_default());
        if let Some((call, watch)) = watching {
            let told = &mut inner.calls[call].told;
            if told.watch == watch {
                heard(&mut told.reports);
            }
        }
    }
}

impl Report {
    /// Returns what is known after a report at the time `at`, if `known` was known before.
    fn behind(
        known: Option<Self>,
        at: Duration,
        key_report: KeyReport,
        free_from: Option<Duration>,
    ) -> Self {
        if key_report != KeyReport::Unknown {
            return Self {
                at,
                seen_at: at,
                free_from,
            };
        }
        // What was seen of an expiry stands where the node sees no more.
        let kept = known.and_then(|known| known.free_from.filter(|from| *from > at));
        Self {
            at,
            seen_at: known.map_or(Duration::ZERO, |known| known.seen_at),
            free_from: kept,
        }
    }
}

impl Inner {
    /// True if a majority of the nodes has reported since `attempt` that it is free of the keys. Only
    /// nodes that voted in `attempt` count.
    pub(super) fn was_reported_free(&self, call: CallId, attempt: usize, now: Duration) -> bool {
        let attempt = &self.attempts[attempt];
        let Some(reports) = self.reports.get(&self.calls[call].line) else {
            return false;
        };
        // A client's clock and the common one are not the same to the nanosecond.
        let by = now + Duration::from_millis(1);
        let is_free = |report: &Report| {
            report.at >= attempt.staked_at && report.free_from.is_some_and(|from| from <= by)
        };
        let seats = reports.iter().enumerate();
        let free = seats
            .filter(|(seat, report)| {
                attempt.voted & (1 << seat) != 0 && report.as_ref().is_some_and(is_free)
            })
            .count();
        free >= majority(attempt.seats.len())
    }
}
