//! The acquisitions of a simulated client, and the ways to abandon one.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use redlock_core::env::{Clock as _, Sleep};
use redlock_core::error::AcquireError;
use redlock_core::request::{Kind, MaxHold, RetryLimit};
use redlock_core::{Lease, Request, Resource};

use super::{SimulatedClient, grown, name};
use crate::check::LONGEST_BREAK;
use crate::profile::{DEFAULT_NODE_TIMEOUT, Profile};
use crate::random::Random;
use crate::world::CallId;

/// The fate of an acquisition, apart from polls whenever it is woken.
#[derive(Default)]
pub(super) struct Whims {
    /// Drops the acquisition after this time, however far it has come.
    limit: Option<Duration>,
    /// Drops it when it is woken for the nth time, without looking why.
    drops_at_poll: Option<u64>,
    /// Does not poll it for a while, now and then.
    stalls: Option<Random>,
}

impl Whims {
    /// Those of a caller that drops its call after `limit`.
    pub(super) fn within(limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            ..Self::default()
        }
    }
}

impl SimulatedClient {
    fn request(&self, random: &mut Random) -> Request {
        let longest = u64::try_from(self.settings.max_ttl.as_millis()).unwrap_or(u64::MAX);
        let ttl = match random.below(10) {
            0..=2 => 10 + random.below(50),
            3..=6 => 50 + random.below(450),
            _ => 500 + random.below(longest - 500 + 1),
        };
        if random.chance(self.settings.crowd.alike) {
            let usual = self.usual_request(random);
            return self.of_a_kind(usual, random);
        }
        let is_plain = self.settings.permits.is_none();
        let several = is_plain && random.below(6) == 0 && self.settings.names > 1;
        let resource = if several {
            Resource::all((0..self.settings.names).map(|number| name(number).into_bytes()))
        } else {
            Resource::from(name(random.below(self.settings.names)))
        };
        let mut request = Request::new(resource).ttl(Duration::from_millis(ttl));
        request = request.retry_limit(match random.below(3) {
            0 => RetryLimit::Wait(random.millis(1, 800)),
            _ => RetryLimit::Count(u32::try_from(random.below(6)).unwrap_or(0)),
        });
        request = request.retry_delay(Duration::from_millis(random.pick(&[0, 5, 40, 200])));
        if random.below(5) == 0 {
            let half = request.ttl / 2;
            request = request.min_validity(half);
        }
        let max_hold = match random.below(4) {
            0 => MaxHold::Unlimited,
            1 => MaxHold::For(request.ttl * 3),
            _ => MaxHold::Ttl,
        };
        request = request.max_hold(max_hold);
        if random.below(8) == 0 {
            request = request.split_retries(2);
        }
        request = request
            .fencing(random.chance(self.settings.fencing))
            .kind(self.kind());
        self.of_a_kind(request, random)
    }

    /// Makes most requests those of readers and writers, if the profile has any.
    fn of_a_kind(&self, request: Request, random: &mut Random) -> Request {
        if self.settings.profile != Profile::Sharing || request.resource.names().len() > 1 {
            return request;
        }
        let (read, write) = (Kind::Read, Kind::Write);
        request.kind(random.pick(&[read, read, read, write, write, Kind::Plain]))
    }

    /// Returns the kind of all locks.
    pub(super) fn kind(&self) -> Kind {
        self.settings.permits.map_or(Kind::Plain, Kind::Permits)
    }

    /// Draws a request that resembles most others in a crowd.
    fn usual_request(&self, random: &mut Random) -> Request {
        let mut request = Request::new(name(0)).ttl(self.settings.crowd.ttl);
        request = request.retry_limit(match random.below(3) {
            0 => RetryLimit::Count(u32::try_from(random.below(20)).unwrap_or(0)),
            _ => RetryLimit::Wait(random.millis(1, random.clone().pick(&[800, 4000]))),
        });
        request = request.retry_delay(Duration::from_millis(random.pick(&[0, 5, 40, 200])));
        if random.below(8) == 0 {
            let most = request.ttl / 10 * 9;
            request = request.min_validity(most);
        }
        let is_fenced = random.below(8) == 0 && random.chance(self.settings.fencing);
        request.fencing(is_fenced).kind(self.kind())
    }

    /// Returns how long an acquisition may take on the client's clock. One that only counts its retries
    /// counts them in line as well, where each is a pause without an attempt. Behind them it waits for
    /// what the nodes say to another caller, and may be given the turn yet.
    fn bound(request: &Request) -> Duration {
        let timeout = DEFAULT_NODE_TIMEOUT.min(request.ttl / 4);
        match request.retry_limit {
            RetryLimit::Wait(budget) => budget,
            RetryLimit::Count(retries) => {
                let pause = request.retry_delay.max(Duration::from_millis(1));
                let in_line = DEFAULT_NODE_TIMEOUT * 3 + LONGEST_BREAK;
                let retries = retries + request.split_retries;
                (timeout + pause) * retries + in_line + timeout * 3
            }
            _ => Duration::MAX,
        }
    }

    /// Acquires `request`, as `whims` have it. None where that was dropped.
    pub(super) async fn acquiring(
        &self,
        call: CallId,
        request: &Request,
        whims: Whims,
    ) -> Option<Result<Lease, AcquireError>> {
        let limit = whims.limit;
        let acquiring = Acquiring {
            client: self,
            call,
            work: Some(Box::pin(self.client.acquire(&self.nodes, request))),
            polls: 0,
            stall: None,
            whims,
        };
        self.within(limit, acquiring).await.flatten()
    }

    fn whims(&self, random: &mut Random) -> Whims {
        let stalls = (self.settings.crowd.stalls > 0).then(|| random.fork());
        let (mut limit, mut drops_at_poll) = (None, None);
        match random.below(12) {
            0 | 1 => limit = Some(random.micros(0, 80_000)),
            2..=4 => drops_at_poll = Some(random.below(4) + 1),
            _ => {}
        }
        Whims {
            limit,
            drops_at_poll,
            stalls,
        }
    }

    pub(super) async fn call(&self, random: &mut Random) {
        let request = self.request(random);
        let whims = self.whims(random);
        let (began, paused) = (self.clock.now(), self.world.paused_for(self.id));
        let call = self.history.came(self.id, &self.clock, &request);
        let acquired = self.acquiring(call, &request, whims).await;
        let number = match &acquired {
            Some(Ok(lease)) => self.history.acquired(call, lease, &self.epochs()),
            _ => usize::MAX,
        };
        if let Some(Err(error)) = &acquired {
            self.history.gave_up(call, error);
        }
        self.history.settled(call);
        let bound = Self::bound(&request) + grown(self.history.stalled_for(call));
        self.check_settled("an acquisition", began, paused, bound);
        let id = self.id;
        match acquired {
            None => {}
            Some(Err(error)) => {
                self.history.note(21, [id as u64, 0], || {
                    format!("c{id} fails, call {call}: {error}")
                });
                self.history.count(|coverage| match error {
                    AcquireError::Contended(why) if why.waiters > 0 => coverage.turned_away += 1,
                    AcquireError::Contended(_) => coverage.contended += 1,
                    _ => coverage.unavailable += 1,
                });
            }
            Some(Ok(lease)) => self.use_lease(lease, number, &request, random).await,
        }
    }

    /// Has lease `number` until its end.
    async fn use_lease(&self, lease: Lease, number: usize, request: &Request, random: &mut Random) {
        self.held.lock().push(lease.handle());
        lease.observe_extensions(self.observer(number));
        // A node may have begun a new epoch before its listeners were told.
        self.world.observing(|| lease.recheck());
        self.hold(lease, number, request, random).await;
        let mut held = self.held.lock();
        held.retain(|lease| lease.over().is_none());
    }
}

type Work<'a> = Pin<Box<dyn Future<Output = Result<Lease, AcquireError>> + Send + 'a>>;

/// An acquisition, which may be stopped wherever it reads the clock. None where it was dropped.
struct Acquiring<'a> {
    client: &'a SimulatedClient,
    call: CallId,
    work: Option<Work<'a>>,
    polls: u64,
    /// While it is not polled.
    stall: Option<Sleep>,
    whims: Whims,
}

impl Acquiring<'_> {
    /// True if the work is left alone for a while yet.
    fn is_stalled(&mut self, context: &mut Context<'_>) -> bool {
        let client = self.client;
        if let Some(random) = &mut self.whims.stalls
            && self.stall.is_none()
            && self.polls > 0
            && random.chance(client.settings.crowd.stalls)
        {
            let span = random.millis(1, random.clone().pick(&[20, 300, 3000]));
            let until = client.world.now() + span;
            client.history.stalls(self.call, until);
            let until = client.clock.moment_at(until);
            self.stall = Some(client.clock.sleep_until(until));
        }
        let stall = self.stall.as_mut().map(Pin::new);
        let is_stalled = stall.is_some_and(|stall| stall.poll(context).is_pending());
        if !is_stalled {
            self.stall = None;
        }
        is_stalled
    }
}

impl Future for Acquiring<'_> {
    type Output = Option<Result<Lease, AcquireError>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.is_stalled(context) {
            return Poll::Pending;
        }
        this.polls += 1;
        if this
            .whims
            .drops_at_poll
            .is_some_and(|poll| poll < this.polls)
        {
            return Poll::Ready(None);
        }
        let (world, process) = (&this.client.world, this.client.id);
        let Some(work) = &mut this.work else {
            return Poll::Pending;
        };
        let began = world.now();
        let polled = world.acquiring(process, this.call, || work.as_mut().poll(context));
        this.client.history.polled(this.call, began);
        if polled.is_ready() {
            this.work = None;
        }
        polled.map(Some)
    }
}

impl Drop for Acquiring<'_> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            let (client, call) = (self.client, self.call);
            if client.world.has_ended() {
                return;
            }
            let has_submitted = client.history.submits_in(|| {
                client.world.dropping(call, || drop(work));
            });
            client.history.cancelled(call, has_submitted);
        }
    }
}
