//! Clocks that run apart.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use redlock_core::env::{Clock, Moment, Sleep};

use crate::world::{EventKey, ProcessId, World};

/// The time of a correct wall clock at time zero: some day in 2025.
pub(crate) const EPOCH: Duration = Duration::from_secs(1_750_000_000);

/// The clock of one client or node, derived from the common one.
pub struct SkewedClock {
    world: Arc<World>,
    /// The client whose clock it is; none for a node, which never stands still at a reading.
    process: Option<ProcessId>,
    /// The clock's gain on the common clock, in parts of a million.
    rate: i64,
    /// The clock's time at time zero.
    origin: Duration,
    /// The error of the wall clock at time zero, in µs. It jumps.
    wall_error: AtomicI64,
    /// The sum of all steps of a node's clock, in µs.
    stepped: AtomicI64,
}

impl SkewedClock {
    /// The clock of client `process`.
    pub fn of_client(
        world: &Arc<World>,
        process: ProcessId,
        rate: i64,
        origin: Duration,
        wall_error: i64,
    ) -> Self {
        Self {
            world: Arc::clone(world),
            process: Some(process),
            rate,
            origin,
            wall_error: AtomicI64::new(wall_error),
            stepped: AtomicI64::new(0),
        }
    }

    /// The clock of a node. Keys expire to the whole millisecond, as in Redis.
    pub fn of_node(world: &Arc<World>, rate: i64, wall_error: i64) -> Self {
        Self {
            process: None,
            ..Self::of_client(world, 0, rate, Duration::from_secs(1_000_000), wall_error)
        }
    }

    /// Moves the wall clock by `micros`.
    pub fn jump(&self, micros: i64) {
        self.wall_error.fetch_add(micros, Ordering::Relaxed);
    }

    /// Moves a node's clock by `micros`. Keys expire by this clock, and `TIME` shows it.
    pub fn step(&self, micros: i64) {
        self.stepped.fetch_add(micros, Ordering::Relaxed);
        self.jump(micros);
    }

    /// Returns what it shows at the common time `at`.
    pub fn moment_at(&self, at: Duration) -> Moment {
        let shown = self.origin + self.run_for(at);
        let stepped = self.stepped.load(Ordering::Relaxed);
        Moment::from_origin(moved(shown, stepped))
    }

    /// Returns the common time at which it first shows `at` or later.
    pub fn common_time(&self, at: Moment) -> Duration {
        let shown = at.since_origin().saturating_sub(self.origin);
        let nanos = shown.as_nanos().saturating_mul(1_000_000)
            / u128::from(1_000_000_u64.saturating_add_signed(self.rate));
        // Far beyond every run, and far from an overflow.
        let mut time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 4));
        while self.run_for(time) < shown && time < Duration::from_nanos(u64::MAX / 4) {
            time += Duration::from_nanos(1);
        }
        time
    }

    /// Returns the time since zero, by this clock's rate.
    fn run_for(&self, common: Duration) -> Duration {
        run_at(self.rate, common)
    }
}

/// Returns what a clock counts in the common time `span` that runs faster by `rate` parts in a million.
fn run_at(rate: i64, span: Duration) -> Duration {
    let nanos = i128::try_from(span.as_nanos()).unwrap_or(i128::MAX);
    let gained = nanos * i128::from(rate) / 1_000_000;
    Duration::from_nanos(u64::try_from(nanos + gained).unwrap_or(u64::MAX))
}

fn moved(time: Duration, micros: i64) -> Duration {
    let by = Duration::from_micros(micros.unsigned_abs());
    if micros < 0 {
        time.saturating_sub(by)
    } else {
        time + by
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Moment {
        let Some(process) = self.process else {
            let exact = self.moment_at(self.world.now()).since_origin();
            let millis = u64::try_from(exact.as_millis()).unwrap_or(u64::MAX);
            return Moment::from_origin(Duration::from_millis(millis));
        };
        // A thread may stand still before it reads the clock, or with what it has read.
        self.world.at_clock(process);
        let now = self.moment_at(self.world.now());
        self.world.at_clock(process);
        now
    }

    fn wall(&self) -> Duration {
        moved(
            EPOCH + self.world.now(),
            self.wall_error.load(Ordering::Relaxed),
        )
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        Sleep::new(Timer {
            world: Arc::clone(&self.world),
            at: self.common_time(at),
            entry: None,
        })
    }
}

struct Timer {
    world: Arc<World>,
    at: Duration,
    entry: Option<EventKey>,
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.world.now() >= self.at {
            return Poll::Ready(());
        }
        if let Some(known) = self.entry.take() {
            self.world.forget(known);
        }
        self.entry = Some(self.world.wake_at(self.at, context.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(known) = self.entry.take() {
            self.world.forget(known);
        }
    }
}
