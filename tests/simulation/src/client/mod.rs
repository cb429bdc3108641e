//! A simulated client: core's own, unchanged, and tasks that take locks with it.

mod hold;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use redlock_core::{
    AcquireError, Client, Clock, DEFAULT_NODE_TIMEOUT, Environment, NodeSet, Renewal, Request,
    Resource, Retry, RetryLimit,
};

use crate::check::since;
use crate::clock::SkewedClock;
use crate::history::History;
use crate::profile::Settings;
use crate::random::{Random, SeededEntropy};
use crate::server::Server;
use crate::world::{ProcessId, World};

/// What a call may take beyond what it says: to be polled, and for two clocks to agree.
const SLACK: Duration = Duration::from_millis(5);

/// How long one whose turn comes has to leave the lock to other processes, at most.
const LONGEST_BREAK: Duration = DEFAULT_NODE_TIMEOUT;

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
    /// A client of `nodes`, which lead to `servers`.
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
        let environment = Environment {
            clock: Arc::clone(&clock) as _,
            entropy: Arc::new(SeededEntropy::new(random)),
            spawner: world.spawner(id),
        };
        let this = Arc::new(Self {
            id,
            world: Arc::clone(world),
            clock,
            history: Arc::clone(history),
            client: Client::new(environment),
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
                    // A thread that stands still may hold what this would wait for.
                    world.when_awake(id, move || me.recheck());
                }
            }));
        }
        this
    }

    fn recheck(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = held.clone();
        for lease in held {
            self.world.observing(|| lease.recheck());
            if self.world.observing(|| lease.over()).is_none() {
                let epochs: Vec<u32> = self.nodes.iter().map(|node| node.epoch()).collect();
                self.history
                    .check_vouched(self.id, lease.token_id(), &epochs);
            }
        }
    }

    /// Forgets all leases, so that nothing keeps anything alive in a circle.
    pub fn forget(&self) {
        let held = self.held.lock().map(|mut held| std::mem::take(&mut *held));
        drop(held);
    }

    /// Starts a task that takes one lock after the other.
    pub fn work(self: &Arc<Self>, mut random: Random) {
        let me = Arc::clone(self);
        self.start(async move {
            for _ in 0..me.settings.calls {
                me.sleep(random.micros(0, 60_000)).await;
                me.call(&mut random).await;
            }
        });
    }

    /// Starts a task that takes every lock once, now that nothing fails any more; each within
    /// `bound`.
    pub fn probe(self: &Arc<Self>, bound: Duration) {
        let me = Arc::clone(self);
        self.start(async move {
            for number in 0..me.settings.names {
                let mut request = Request::new(name(number));
                request.ttl = Duration::from_millis(500);
                request.retry = Retry {
                    limit: RetryLimit::Wait(bound),
                    delay: Duration::from_millis(200),
                };
                match me.client.acquire(&me.nodes, &request).await {
                    Ok(lease) => {
                        me.history.acquired(me.id, &me.clock, &request, &lease);
                        me.history.count(|coverage| coverage.probed += 1);
                        lease.release().await;
                    }
                    Err(error) => me.history.violated(
                        crate::history::Invariant::Liveness,
                        format!("with a majority up, c{}: {error}", me.id),
                    ),
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
            if let Poll::Ready(output) = work.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            timer.as_mut().poll(context).map(|()| None)
        })
        .await
    }

    fn request(&self, random: &mut Random) -> Request {
        let longest = u64::try_from(self.settings.max_ttl.as_millis()).unwrap_or(u64::MAX);
        let ttl = match random.below(10) {
            0..=2 => 10 + random.below(50),
            3..=6 => 50 + random.below(450),
            _ => 500 + random.below(longest - 500 + 1),
        };
        let several = random.below(6) == 0 && self.settings.names > 1;
        let resource = if several {
            Resource::all((0..self.settings.names).map(|number| name(number).into_bytes()))
        } else {
            Resource::from(name(random.below(self.settings.names)))
        };
        let mut request = Request::new(resource);
        request.ttl = Duration::from_millis(ttl);
        request.retry = Retry {
            limit: match random.below(3) {
                0 => RetryLimit::Wait(random.millis(1, 800)),
                _ => RetryLimit::Count(u32::try_from(random.below(6)).unwrap_or(0)),
            },
            delay: Duration::from_millis(random.pick(&[0, 5, 40, 200])),
        };
        if random.below(5) == 0 {
            request.min_validity = request.ttl / 2;
        }
        request.renewal = match random.below(4) {
            0 => Renewal::Unlimited,
            1 => Renewal::For(request.ttl * 3),
            _ => Renewal::Never,
        };
        request.fencing = random.chance(self.settings.fencing);
        request
    }

    /// How long an acquisition may take on the client's clock. One that only counts its retries
    /// counts them in line as well, where each is a pause without an attempt. Behind them it waits for
    /// what the nodes say to another caller, and may be given the turn yet.
    fn bound(request: &Request) -> Duration {
        let timeout = DEFAULT_NODE_TIMEOUT.min(request.ttl / 4);
        match request.retry.limit {
            RetryLimit::Wait(budget) => budget,
            RetryLimit::Count(retries) => {
                let pause = request.retry.delay.max(Duration::from_millis(1));
                let in_line = DEFAULT_NODE_TIMEOUT * 3 + LONGEST_BREAK;
                (timeout + pause) * retries + in_line + timeout * 3
            }
            _ => Duration::MAX,
        }
    }

    async fn call(&self, random: &mut Random) {
        let request = self.request(random);
        let limit = (random.below(6) == 0).then(|| random.micros(0, 80_000));
        let (began, paused) = (self.clock.now(), self.world.paused_for(self.id));
        self.history.note(20, [self.id as u64, 0], || {
            format!(
                "c{} acquires {:?} for {:?}",
                self.id, request.resource, request.ttl
            )
        });
        let acquisition = Acquiring {
            world: &self.world,
            process: self.id,
            work: Box::pin(self.client.acquire(&self.nodes, &request)),
        };
        let acquired = self.within(limit, acquisition).await;
        let number = match &acquired {
            Some(Ok(lease)) => self.history.acquired(self.id, &self.clock, &request, lease),
            _ => usize::MAX,
        };
        self.check_settled("an acquisition", began, paused, Self::bound(&request));
        let id = self.id;
        match acquired {
            None => self.history.count(|coverage| coverage.cancelled += 1),
            Some(Err(error)) => {
                self.history
                    .note(21, [id as u64, 0], || format!("c{id} fails: {error}"));
                self.history.count(|coverage| match error {
                    AcquireError::Contended(_) => coverage.contended += 1,
                    _ => coverage.unavailable += 1,
                });
            }
            Some(Ok(lease)) => {
                if let Ok(mut held) = self.held.lock() {
                    held.push(lease.handle());
                }
                // A node may have begun a new epoch before anybody could be told.
                self.world.observing(|| lease.recheck());
                self.hold(lease, number, &request, random).await;
                if let Ok(mut held) = self.held.lock() {
                    held.retain(|lease| lease.over().is_none());
                }
            }
        }
    }

    fn check_settled(
        &self,
        what: &str,
        began: redlock_core::Moment,
        paused: Duration,
        bound: Duration,
    ) {
        // Pauses are counted on the common clock, of which a client's second is never more than
        // two.
        let paused = self.world.paused_for(self.id).saturating_sub(paused) * 2;
        let took = since(&self.clock, began);
        let bound = bound.saturating_add(paused).saturating_add(SLACK);
        self.history.check_settled(what, took, bound);
    }
}

/// The name of lock `number`.
fn name(number: u64) -> String {
    format!("lock:{number}")
}

/// An acquisition, which may be stopped wherever it reads the clock.
struct Acquiring<'a, W> {
    world: &'a World,
    process: ProcessId,
    work: Pin<Box<W>>,
}

impl<W: Future> Future for Acquiring<'_, W> {
    type Output = W::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<W::Output> {
        let (world, process) = (self.world, self.process);
        let work = self.work.as_mut();
        world.acquiring(process, || work.poll(context))
    }
}
