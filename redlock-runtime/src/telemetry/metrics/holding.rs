//! Callers that wait and hold, counted while they do. A writer that becomes a reader waited and acquired as a
//! writer; it is held, timed, extended and lost as a reader from then on.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::env::caught;
use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::{ObserveDowngrade, ObserveExtensions};
use redlock_core::request::Kind;

use super::super::outcome::AcquireOutcome;
use super::site::{REASONS, SiteMetrics};
use super::{Metrics, RECORDER};
use crate::site::Site;

/// A waiting caller, counted until it has the lock, fails or is dropped.
pub(crate) struct Waiting {
    /// Until it ended, unless the recorder panicked.
    site: Option<Arc<SiteMetrics>>,
    is_ended: bool,
}

impl Waiting {
    pub(super) fn begin(site: Option<Arc<SiteMetrics>>) -> Self {
        let is_ended = false;
        if let Some(site) = &site {
            caught(RECORDER, || site.waiting.increment(1));
        }
        Self { site, is_ended }
    }

    pub(crate) fn acquired(
        &mut self,
        lease: &redlock_core::Lease,
        metrics: &Arc<Metrics>,
        of: Option<&'static Site>,
    ) -> Holding {
        if let Some(site) = &self.site {
            caught(RECORDER, || site.wait.record(lease.waited()));
        }
        let site = self.end(AcquireOutcome::Acquired);
        Holding::begin(site, lease, Duration::ZERO, || (Arc::clone(metrics), of))
    }

    pub(crate) fn joined(
        &mut self,
        lease: &redlock_core::Lease,
        metrics: &Arc<Metrics>,
        of: Option<&'static Site>,
    ) -> Holding {
        let site = self.end(AcquireOutcome::Joined);
        // The lock was held before this call came.
        let before = lease.held_for();
        Holding::begin(site, lease, before, || (Arc::clone(metrics), of))
    }

    pub(crate) fn ended(&mut self, outcome: AcquireOutcome) {
        self.end(outcome);
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn end(&mut self, outcome: AcquireOutcome) -> Option<Arc<SiteMetrics>> {
        self.is_ended = true;
        let site = self.site.take()?;
        caught(RECORDER, || {
            site.waiting.decrement(1);
            site.count(outcome);
        });
        Some(site)
    }
}

/// A held lease, counted until it ends.
pub(crate) struct Holding(Option<Holder>);

enum Holder {
    /// Its kind stays.
    Fixed(Counted),
    Writer(Arc<Writer>),
}

/// Where a holder is counted.
#[derive(Clone)]
struct Counted {
    site: Arc<SiteMetrics>,
    /// The time for which the lease was held before.
    before: Duration,
}

/// A writer, which may become a reader: it is counted as one from then on.
struct Writer {
    metrics: Arc<Metrics>,
    site: Option<&'static Site>,
    state: Mutex<WriterState>,
}

struct WriterState {
    counted: Counted,
    /// The holder is done.
    is_over: bool,
}

impl ObserveDowngrade for Writer {
    fn downgraded(&self, held_for: Duration) {
        let Some(reads) = caught(RECORDER, || self.metrics.of(self.site, Kind::Read)) else {
            return;
        };
        let (writes, reads) = {
            let mut state = self.state.lock();
            if state.is_over {
                return;
            }
            let reads = Counted {
                site: reads,
                before: held_for,
            };
            (std::mem::replace(&mut state.counted, reads.clone()), reads)
        };
        writes.ended(held_for);
        reads.begins();
    }
}

impl ObserveExtensions for Writer {
    fn extended(&self, outcome: Result<(), &ExtendError>) {
        let site = self.state.lock().counted.site.clone();
        site.extended(outcome);
    }
}

impl Counted {
    fn begins(&self) {
        caught(RECORDER, || self.site.held.increment(1));
    }

    fn ended(&self, held_for: Duration) {
        caught(RECORDER, || {
            self.site.held.decrement(1);
            self.site.hold.record(held_for.saturating_sub(self.before));
        });
    }

    fn lost(&self, over: Option<&LeaseEnd>) {
        let reason = over.map(LeaseEnd::as_str);
        if let Some(place) = REASONS.iter().position(|it| Some(*it) == reason) {
            caught(RECORDER, || self.site.lost[place].increment(1));
        }
    }
}

impl Holding {
    /// `writer` returns what a writer is counted with once it reads.
    fn begin(
        site: Option<Arc<SiteMetrics>>,
        lease: &redlock_core::Lease,
        before: Duration,
        writer: impl FnOnce() -> (Arc<Metrics>, Option<&'static Site>),
    ) -> Self {
        Self(site.map(|site| {
            let is_writer = site.is_of_writers();
            let counted = Counted { site, before };
            counted.begins();
            if !is_writer {
                lease.observe_extensions(Arc::clone(&counted.site) as _);
                return Holder::Fixed(counted);
            }
            let (metrics, site) = writer();
            let state = Mutex::new(WriterState {
                counted,
                is_over: false,
            });
            let writer = Arc::new(Writer {
                metrics,
                site,
                state,
            });
            lease.observe_extensions(Arc::clone(&writer) as _);
            let observer = Arc::downgrade(&writer);
            lease.observe_downgrade(observer);
            Holder::Writer(writer)
        }))
    }

    /// Its holder is done; to be called before it is released.
    pub(crate) fn ended(&self, lease: &redlock_core::Lease) {
        let counted = match &self.0 {
            None => return,
            Some(Holder::Fixed(counted)) => counted.clone(),
            Some(Holder::Writer(writer)) => {
                let mut state = writer.state.lock();
                state.is_over = true;
                state.counted.clone()
            }
        };
        counted.ended(lease.held_for());
        counted.lost(lease.over().as_ref());
    }

    /// No majority confirmed the release in time.
    pub(crate) fn unconfirmed(&self) {
        let site = match &self.0 {
            None => return,
            Some(Holder::Fixed(counted)) => Arc::clone(&counted.site),
            Some(Holder::Writer(writer)) => Arc::clone(&writer.state.lock().counted.site),
        };
        caught(RECORDER, || site.unconfirmed.increment(1));
    }
}
