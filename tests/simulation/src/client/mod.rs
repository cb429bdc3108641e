//! A simulated client: core's own, unchanged, and tasks that take locks with it.

mod acquire;
mod extended;
mod hold;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::env::Clock;
use redlock_core::error::LeaseEnd;
use redlock_core::request::{Kind, RetryLimit};
use redlock_core::{Client, Environment, NodeSet, Request};

use acquire::Whims;

use crate::check::since;
use crate::clock::SkewedClock;
use crate::history::History;
use crate::profile::{DEFAULT_NODE_TIMEOUT, Settings};
use crate::random::{Random, SeededEntropy};
use crate::server::Server;
use crate::world::{ProcessId, World};

/// The extra time that a call may take, for its polls and for the difference between two clocks.
const SLACK: Duration = Duration::from_millis(5);

/// The longest time until leases are checked after a new epoch begins.
const HEARS_LATE: Duration = Duration::from_millis(100);

/// See the [module](self).
pub struct SimulatedClient {
    id: ProcessId,
    world: Arc<World>,
    clock: Arc<SkewedClock>,
    history: Arc<History>,
    client: Client,
    nodes: NodeSet,
    servers: Arc<[Arc<Server>]>,
    settings: Settings,
    /// Leases whose handles hear of new epochs.
    held: Mutex<Vec<redlock_core::LeaseHandle>>,
    /// Tasks that are not done yet.
    pub(crate) busy: Arc<AtomicUsize>,
}

impl SimulatedClient {
    /// Returns a client of `nodes`, which lead to `servers`.
    pub fn new(
        id: ProcessId,
        history: &Arc<History>,
        clock: Arc<SkewedClock>,
        nodes: NodeSet,
        servers: Arc<[Arc<Server>]>,
        settings: Settings,
        random: Random,
    ) -> Arc<Self> {
        let world = &history.world;
        let entropy = Arc::new(SeededEntropy::new(random));
        let environment = Environment::new(Arc::clone(&clock) as _, entropy, world.spawner(id));
        let this = Arc::new(Self {
            id,
            world: Arc::clone(world),
            clock,
            history: Arc::clone(history),
            client: Client::with_settings(environment, settings.of_client()),
            nodes,
            servers,
            settings,
            held: Mutex::default(),
            busy: Arc::default(),
        });
        for node in this.nodes.iter() {
            let me = Arc::downgrade(&this);
            node.on_new_epoch(Arc::new(move || {
                if let Some(me) = me.upgrade() {
                    let (world, id) = (Arc::clone(&me.world), me.id);
                    // Some hear of it a little later, and hand locks over meanwhile.
                    let delay = HEARS_LATE * u32::from(id % 2 == 1);
                    Arc::clone(&world).after(delay, move || {
                        // A thread that stands still may hold what this would wait for.
                        world.when_awake(id, move || me.recheck());
                    });
                }
            }));
        }
        this
    }

    fn recheck(&self) {
        let held = self.held.lock();
        let held = held.clone();
        for lease in held {
            self.world.observing(|| lease.recheck());
            if self.world.observing(|| lease.over()).is_none() {
                let epochs = self.epochs();
                self.history
                    .check_vouched(self.id, lease.token_id(), &epochs);
            }
        }
    }

    fn epochs(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.epoch()).collect()
    }

    /// Forgets all leases, so that nothing keeps anything alive in a circle.
    pub fn forget(&self) {
        let held = std::mem::take(&mut *self.held.lock());
        drop(held);
    }

    /// Starts a task that takes one lock after the other.
    pub fn work(self: &Arc<Self>, mut random: Random) {
        let me = Arc::clone(self);
        self.start(async move {
            for _ in 0..me.settings.calls {
                let longest = if me.settings.crowd.alike > 0 {
                    10_000
                } else {
                    60_000
                };
                me.sleep(random.micros(0, longest)).await;
                me.call(&mut random).await;
            }
        });
    }

    /// Starts a task that takes every lock once, now that nothing fails any more; each within `bound`.
    pub fn probe(self: &Arc<Self>, bound: Duration) {
        let me = Arc::clone(self);
        self.start(async move {
            for number in 0..me.settings.names {
                let mut request = Request::new(name(number))
                    .ttl(Duration::from_millis(500))
                    .fencing(me.settings.misset > 0)
                    .kind(me.kind())
                    .retry_limit(RetryLimit::Forever)
                    .retry_delay(Duration::from_millis(200));
                if me.history.rules.sharing {
                    let kinds = [Kind::Read, Kind::Write, Kind::Plain];
                    request = request.kind(kinds[me.id % kinds.len()]);
                }
                let call = me.history.came(me.id, &me.clock, &request);
                let violated = |text: &str| {
                    let text = format!("with a majority up, c{}: {text}", me.id);
                    me.history
                        .violated(crate::history::Invariant::Liveness, text);
                };
                match me.acquiring(call, &request, Whims::within(bound)).await {
                    None => violated("no lock in time"),
                    Some(Ok(lease)) => {
                        let number = me.history.acquired(call, &lease, &me.epochs());
                        me.history.settled(call);
                        me.history.count(|coverage| coverage.probed += 1);
                        me.history.leaving(number, LeaseEnd::Released);
                        lease.release().await;
                    }
                    Some(Err(error)) => violated(&error.to_string()),
                }
            }
        });
    }

    fn start(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        self.busy.fetch_add(1, Ordering::Relaxed);
        let busy = Arc::clone(&self.busy);
        let task = Box::pin(async move {
            work.await;
            busy.fetch_sub(1, Ordering::Relaxed);
        });
        self.world.spawn(self.id, task);
    }

    async fn sleep(&self, span: Duration) {
        let at = self.clock.now().saturating_add(span);
        self.clock.sleep_until(at).await;
    }

    /// Polls `work` for at most `limit`, then drops it.
    async fn within<W: Future>(&self, limit: Option<Duration>, work: W) -> Option<W::Output> {
        let mut work = Box::pin(work);
        let Some(limit) = limit else {
            return Some(work.await);
        };
        let mut timer = pin!(self.sleep(limit));
        std::future::poll_fn(|context| {
            // The time first: what is dropped may have been woken at the same moment.
            if timer.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    }

    fn check_settled(
        &self,
        what: &str,
        began: redlock_core::env::Moment,
        paused: Duration,
        bound: Duration,
    ) {
        let paused = self.world.paused_for(self.id).saturating_sub(paused);
        let took = since(&self.clock, began);
        let bound = bound.saturating_add(grown(paused)).saturating_add(SLACK);
        self.history.check_settled(what, took, bound);
    }
}

/// Returns how much longer a call may take if its process stood still for `stood_still`, on the common clock.
/// A client's second is never more than two seconds of that clock. A caller that stands still for
/// longer than the node timeout may lose the turn, and has to wait for another one.
fn grown(stood_still: Duration) -> Duration {
    stood_still
        * if stood_still < DEFAULT_NODE_TIMEOUT / 2 {
            2
        } else {
            8
        }
}

/// Returns the name of lock `number`.
fn name(number: u64) -> String {
    format!("lock:{number}")
}
