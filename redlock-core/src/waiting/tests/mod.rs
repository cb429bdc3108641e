//! Lines over in-process nodes that answer at once. The tests poll every future themselves.

pub(crate) mod blind;
mod blocks;
mod breaks;
mod clock_jump;
mod lines;
mod outage;
mod panicking_nodes;
mod refusals;
mod rivals;
mod standing;

pub(crate) use std::future::Future;
pub(crate) use std::pin::Pin;
pub(crate) use std::sync::Arc;
pub(crate) use std::task::{Context, Poll, Waker};
pub(crate) use std::time::Duration;

pub(crate) use crate::client::{Client, Settings};
pub(crate) use crate::env::tests::{StillClock, still_clock};
pub(crate) use crate::env::{Entropy, Environment, Spawn, Task};
pub(crate) use crate::error::{AcquireError, Contended, LeaseEnd, Unavailable};
pub(crate) use crate::lease::Lease;
pub(crate) use crate::lease::Released;
pub(crate) use crate::memory::MemoryNode;
pub(crate) use crate::model::limits::RetryLimit;
pub(crate) use crate::node::{Node, NodeSet, Remaining};
pub(crate) use crate::request::Request;

pub(crate) const TTL: Duration = Duration::from_secs(10);
pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// Fills bytes with a number that grows with each call.
struct Counting(std::sync::atomic::AtomicU64);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        let next = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        for (byte, digit) in bytes.iter_mut().zip(next.to_le_bytes().iter().cycle()) {
            *byte = *digit;
        }
    }
}

struct Nowhere;

impl Spawn for Nowhere {
    fn spawn(&self, _: Task) {}
}

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct Woken(std::sync::atomic::AtomicUsize);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Woken {
    /// Returns the number of wake-ups since the last call of this function.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, std::sync::atomic::Ordering::Relaxed)
    }
}

pub(crate) struct Scene {
    pub(crate) clock: Arc<StillClock>,
    pub(crate) nodes: Vec<MemoryNode>,
    pub(crate) set: NodeSet,
    pub(crate) client: Client,
}

pub(crate) type Acquiring = Pin<Box<dyn Future<Output = Result<Lease, AcquireError>>>>;

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let (clock, of_code) = still_clock();
        clock.advance(SECOND);
        let node = |name: &str| MemoryNode::new(name, Arc::clone(&of_code));
        let nodes = ["a", "b", "c"].map(node).to_vec();
        let set = set_of(&nodes);
        let environment = Environment {
            clock: Arc::clone(&of_code),
            entropy: Arc::new(Counting(1.into())),
            spawner: Arc::new(Nowhere),
        };
        let client = Client::with_settings(environment, settings);
        Self {
            clock,
            nodes,
            set,
            client,
        }
    }

    /// Returns a scene with the client of another process.
    pub(crate) fn another(&self) -> Self {
        let environment = self.client.shared.context.environment.clone();
        Self {
            clock: Arc::clone(&self.clock),
            nodes: self.nodes.clone(),
            set: Arc::clone(&self.set),
            client: Client::new(environment),
        }
    }

    pub(crate) fn acquire(&self, request: &Request) -> Acquiring {
        self.acquire_on(&self.set, request)
    }

    pub(crate) fn acquire_on(&self, nodes: &NodeSet, request: &Request) -> Acquiring {
        let (client, nodes, request) = (self.client.clone(), Arc::clone(nodes), request.clone());
        Box::pin(async move { client.acquire(&nodes, &request).await })
    }

    /// Returns a caller that is still waiting after its first poll.
    pub(crate) fn waits(&self, request: &Request) -> Acquiring {
        let mut waits = self.acquire(request);
        assert!(is_waiting(&mut waits));
        waits
    }

    /// Returns the lease of a caller that acquires it at once.
    pub(crate) fn acquired(&self, request: &Request) -> Lease {
        acquired(&mut self.acquire(request))
    }

    /// Makes hanging nodes serve the calls so far, and hang again.
    pub(crate) fn serve(&self) {
        self.nodes.iter().for_each(MemoryNode::restore);
        self.nodes.iter().for_each(MemoryNode::hang);
    }

    /// Returns the value of `r` on each of the nodes.
    pub(crate) fn values(&self) -> Vec<Option<Vec<u8>>> {
        self.nodes.iter().map(|node| node.get(b"r")).collect()
    }

    pub(crate) fn is_free(&self) -> bool {
        self.values().iter().all(Option::is_none)
    }

    /// Makes a client of another process hold `r`.
    pub(crate) fn hold_elsewhere(&self) {
        for node in &self.nodes {
            node.put(b"r", b"someone", SECOND * 60);
        }
    }

    pub(crate) fn free_elsewhere(&self) {
        for node in &self.nodes {
            node.delete(b"r");
        }
    }
}

pub(crate) fn set_of(nodes: &[MemoryNode]) -> NodeSet {
    let nodes = nodes.iter().cloned();
    nodes.map(|node| Arc::new(node) as Arc<dyn Node>).collect()
}

pub(crate) fn waiting() -> Request {
    let mut request = Request::new("r").ttl(TTL);
    request.retry_limit = RetryLimit::Forever;
    request
}

pub(crate) fn once() -> Request {
    Request::new("r").ttl(TTL).retry_limit(0)
}

pub(crate) fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

pub(crate) fn is_waiting(acquiring: &mut Acquiring) -> bool {
    poll(acquiring).is_pending()
}

pub(crate) fn acquired(acquiring: &mut Acquiring) -> Lease {
    match poll(acquiring) {
        Poll::Ready(lease) => lease.unwrap(),
        Poll::Pending => panic!("not acquired"),
    }
}

pub(crate) fn refused(acquiring: &mut Acquiring) -> AcquireError {
    match poll(acquiring) {
        Poll::Ready(refused) => refused.unwrap_err(),
        Poll::Pending => panic!("still waiting"),
    }
}

pub(crate) fn contended(error: AcquireError) -> Contended {
    match error {
        AcquireError::Contended(contended) => contended,
        other => panic!("it is held, and the caller was told: {other}"),
    }
}

pub(crate) fn unavailable(error: AcquireError) -> Unavailable {
    match error {
        AcquireError::Unavailable(unavailable) => unavailable,
        other => panic!("no majority has answered, and the caller was told: {other}"),
    }
}

/// True if an extension of the lease succeeds at once.
pub(crate) fn extended(lease: &Lease, ttl: Duration) -> bool {
    match poll(&mut Box::pin(lease.extend(ttl))) {
        Poll::Ready(extended) => extended.is_ok(),
        Poll::Pending => false,
    }
}

pub(crate) fn released(lease: Lease) -> Released {
    match poll(&mut Box::pin(lease.release())) {
        Poll::Ready(released) => released,
        Poll::Pending => panic!("not released at once"),
    }
}
