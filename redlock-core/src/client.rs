//! A client of the nodes: acquires leases.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::attempt::{Outcome, attempt};
use crate::environment::{Environment, Moment};
use crate::error::{AcquireError, Invalid};
use crate::lease::Lease;
use crate::node::{Answer, Node, NodeErrorKind, ask};
use crate::operation::{Operation, Want};
use crate::patience::Patience;
use crate::race::before;
use crate::renew::Renewals;
use crate::request::Request;
use crate::resource::Resource;
use crate::round::{MOST_NODES, Round};
use crate::token::TokenSource;

/// How long an attempt that finds no majority waits for answers, unless configured otherwise.
pub const DEFAULT_NODE_TIMEOUT: Duration = Duration::from_millis(50);

/// The nodes of a lock, as configured. A majority of these decides, whether they are up or not.
pub type NodeSet = Arc<[Arc<dyn Node>]>;

/// Acquires leases over sets of nodes. Cheap to clone; all clones are one client.
///
/// It holds no lock across an await and no global state.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<ClientShared>,
}

pub(crate) struct ClientShared {
    pub(crate) environment: Environment,
    pub(crate) tokens: TokenSource,
    pub(crate) node_timeout: Duration,
    pub(crate) key_prefix: Box<[u8]>,
    pub(crate) renewals: Renewals,
}

impl Client {
    /// A client in `environment`, with a node timeout of [`DEFAULT_NODE_TIMEOUT`] and no key
    /// prefix.
    pub fn new(environment: Environment) -> Self {
        Self::with_settings(environment, DEFAULT_NODE_TIMEOUT, [])
    }

    /// A client with a node timeout and key prefix of its own.
    pub fn with_settings(
        environment: Environment,
        node_timeout: Duration,
        key_prefix: impl Into<Box<[u8]>>,
    ) -> Self {
        let shared = ClientShared {
            environment,
            tokens: TokenSource::new(),
            node_timeout,
            key_prefix: key_prefix.into(),
            renewals: Renewals::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The current moment on this client's clock.
    pub fn now(&self) -> Moment {
        self.shared.environment.now()
    }

    /// Acquires `request` from a majority of `nodes`, trying again as it says.
    ///
    /// # Errors
    /// [`AcquireError::Contended`] where a majority answered and someone else holds the resource,
    /// [`AcquireError::Unavailable`] where no majority answered in time, and
    /// [`AcquireError::Invalid`] before anything is sent.
    ///
    /// # Cancellation
    /// Dropping this future at any point sends the release of what it may have acquired to every
    /// node, behind the acquisition on the same connection.
    pub async fn acquire(&self, nodes: &NodeSet, request: &Request) -> Result<Lease, AcquireError> {
        request.check()?;
        if nodes.is_empty() || nodes.len() > MOST_NODES {
            return Err(AcquireError::Invalid(Invalid::new(format!(
                "a lock over {} nodes; give it 1 to {MOST_NODES}",
                nodes.len()
            ))));
        }
        let keys = request.resource.with_prefix(&self.shared.key_prefix);
        let environment = &self.shared.environment;
        let mut patience = Patience::new(environment, &request.retry, self.shared.node_timeout)
            .with_splits(request.split_retries);
        loop {
            let timeout = patience.begin_attempt(environment, request.ttl);
            let refused = match attempt(&self.shared, nodes, request, &keys, timeout).await {
                Outcome::Acquired(lease) => return Ok(lease),
                Outcome::Refused(refused) => refused,
            };
            let next = match patience.next_attempt(environment) {
                None if patience.minds_splits() && refused.is_split().await => {
                    patience.next_behind_a_split(environment)
                }
                next => next,
            };
            match next {
                Some(next) => environment.clock.sleep_until(next).await,
                None => return Err(refused.conclude(&patience).await),
            }
        }
    }

    /// Waits until every node has served all that was submitted before this call, at most for
    /// `timeout`; returns the names of those that did not. An operation is answered after those
    /// before it, so one that changes nothing does for a barrier: the release of what was never
    /// locked, which also reaches a node that votes no. It takes two: what the first one found
    /// answered with `NOSCRIPT` is sent again behind it.
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    pub async fn flush(&self, nodes: &NodeSet, timeout: Duration) -> Vec<String> {
        let environment = &self.shared.environment;
        let until = environment.now().saturating_add(timeout);
        let token = self.shared.tokens.fresh(&*environment.entropy);
        let key = Resource::from("redlock:flush").with_prefix(&self.shared.key_prefix);
        let ttl = Duration::from_millis(1);
        let barrier = || Operation::new(key.clone(), token.clone(), Want::Release { ttl });
        // Each node by itself: one that hangs takes no time from the others.
        let mut asking: Vec<_> = nodes
            .iter()
            .map(|node| {
                Box::pin(async move {
                    is_served(&ask(&**node, barrier()).await)
                        && is_served(&ask(&**node, barrier()).await)
                })
            })
            .collect();
        let mut served = vec![None; nodes.len()];
        let all = poll_fn(|context| {
            for (asking, served) in asking.iter_mut().zip(&mut served) {
                if served.is_none()
                    && let Poll::Ready(answer) = asking.as_mut().poll(context)
                {
                    *served = Some(answer);
                }
            }
            if served.contains(&None) {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        });
        before(&*environment.clock, until, all).await;
        let unserved = nodes.iter().zip(&served);
        let unserved = unserved.filter(|(_, served)| **served != Some(true));
        unserved.map(|(node, _)| node.name().to_owned()).collect()
    }
}

/// Whether a node got to serve what it answers to. One that answers with an error has, too.
fn is_served(answer: &Answer) -> bool {
    match answer {
        Answer::Failed(error) => error.kind() == NodeErrorKind::Server,
        _ => true,
    }
}

impl ClientShared {
    /// Waits for `round`, at most for the node timeout from now.
    pub(crate) async fn settle(&self, round: &Round, timeout: Duration) {
        let clock = &*self.environment.clock;
        let until = clock.now().saturating_add(timeout);
        before(clock, until, round.decided()).await;
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("node_timeout", &self.shared.node_timeout)
            .finish_non_exhaustive()
    }
}
