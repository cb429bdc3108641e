//! Failovers while many callers lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use redlock_core::request::RetryLimit;
use redlock_core::{Client, NodeSet, Request};
use redlock_tests::{Nodes, SentinelGroup, eventually};
use tokio::task::JoinHandle;

use crate::sentinel::fixture::{
    IO, SOON, calm, checked, client, impatient, once, until_quarantined, voting, wary,
};

const CALLERS: usize = 30;

/// A release that was not replicated when the master died leaves its key on the next one for so long.
const LEFTOVER: Duration = Duration::from_secs(4);

/// The request of a lone caller, which is refused at once if the node does not vote.
fn hasty() -> Request {
    Request::new("").ttl(LEFTOVER)
}

/// The request of a caller among others. It keeps its place in line for as long as the others take.
fn steady() -> Request {
    let mut request = once("");
    request.retry.limit = RetryLimit::Wait(SOON);
    request
}

/// Callers that lock again and again until they are told to stop. One that does not settle fails
/// the test.
struct Crowd {
    callers: Vec<JoinHandle<()>>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    has_ended: AtomicBool,
    /// In each caller's seat, how often it had its lock.
    granted: Vec<AtomicUsize>,
    refused: AtomicUsize,
    /// For each resource, who is inside.
    inside: Vec<AtomicUsize>,
    overlaps: AtomicUsize,
}

impl Crowd {
    /// Starts `CALLERS` callers, which share `resources` resources evenly.
    fn start(sets: &[(Client, NodeSet)], resources: usize, request: &Request) -> Self {
        let state = Arc::new(State {
            granted: (0..CALLERS).map(|_| AtomicUsize::new(0)).collect(),
            inside: (0..resources).map(|_| AtomicUsize::new(0)).collect(),
            ..State::default()
        });
        let callers = (0..CALLERS).map(|seat| {
            let (client, set) = sets[seat % sets.len()].clone();
            tokio::spawn(call_on(
                client,
                set,
                seat,
                request.clone(),
                Arc::clone(&state),
            ))
        });
        Self {
            callers: callers.collect(),
            state,
        }
    }

    fn grants(&self) -> Vec<usize> {
        let granted = self.state.granted.iter();
        granted.map(|count| count.load(Ordering::SeqCst)).collect()
    }

    /// Waits until each caller had its lock once more.
    async fn until_all_had_it_again(&self) {
        let before = self.grants();
        eventually("each caller to have its lock again", SOON, async || {
            let now = self.grants();
            let still = now
                .iter()
                .zip(&before)
                .filter(|(now, before)| now <= before);
            match still.count() {
                0 => Ok(()),
                still => Err(format!("{still} of {CALLERS} wait: {now:?}")),
            }
        })
        .await;
    }

    async fn until_refused(&self) {
        let before = self.state.refused.load(Ordering::SeqCst);
        eventually("a call that is refused", SOON, async || {
            let now = self.state.refused.load(Ordering::SeqCst);
            (now > before).then_some(()).ok_or("none".to_owned())
        })
        .await;
    }

    async fn end(self) -> Arc<State> {
        self.state.has_ended.store(true, Ordering::SeqCst);
        for caller in self.callers {
            caller.await.unwrap();
        }
        self.state
    }
}

async fn call_on(
    client: Client,
    nodes: NodeSet,
    seat: usize,
    mut request: Request,
    state: Arc<State>,
) {
    let resource = seat % state.inside.len();
    request.resource = format!("r{resource}").into();
    while !state.has_ended.load(Ordering::SeqCst) {
        let acquired = tokio::time::timeout(SOON * 2, client.acquire(&nodes, &request)).await;
        let Ok(lease) = acquired.expect("a call hangs") else {
            state.refused.fetch_add(1, Ordering::SeqCst);
            continue;
        };
        if state.inside[resource].fetch_add(1, Ordering::SeqCst) > 0 {
            state.overlaps.fetch_add(1, Ordering::SeqCst);
        }
        tokio::task::yield_now().await;
        state.inside[resource].fetch_sub(1, Ordering::SeqCst);
        let released = tokio::time::timeout(SOON * 2, lease.release()).await;
        released.expect("a release hangs");
        state.granted[seat].fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn callers_of_a_master_that_is_killed_are_refused_until_there_is_another() {
    let group = SentinelGroup::start().await;
    let set = voting(group.url(), wary()).await;
    let crowd = Crowd::start(&[(impatient(), set)], CALLERS, &hasty());
    crowd.until_all_had_it_again().await;
    group.servers[0].kill();
    crowd.until_refused().await;
    group.until_replaced(&group.servers[0]).await;
    crowd.until_all_had_it_again().await;
    // It comes back as a master, until the sentinels have told it.
    group.servers[0].restart().await;
    group.until_replica(&group.servers[0]).await;
    crowd.until_all_had_it_again().await;
    crowd.end().await;
}

#[tokio::test]
async fn one_pool_of_three_that_fails_over_lets_nobody_in_twice_and_the_others_decide_meanwhile() {
    let group = SentinelGroup::start().await;
    let plain = Nodes::start(2).await;
    let urls = || [group.url()].into_iter().chain(plain.urls());
    let mut processes = Vec::new();
    for _ in 0..3 {
        let set = checked(urls(), calm()).await;
        let client = Client::with_settings(
            IO.environment(),
            redlock_core::Settings::default()
                .node_timeout(SOON)
                .key_prefix([]),
        );
        processes.push((client, set));
    }
    let crowd = Crowd::start(&processes, 2, &steady());
    crowd.until_all_had_it_again().await;

    group.servers[0].kill();
    crowd.until_all_had_it_again().await;
    group.until_replaced(&group.servers[0]).await;
    for (_, set) in &processes {
        until_quarantined(&set[0]).await;
    }
    crowd.until_all_had_it_again().await;
    let lease = client()
        .acquire(&processes[0].1, &once("other"))
        .await
        .unwrap();
    assert_eq!(group.master().await.get("other"), None, "it does not vote");
    lease.release().await;
    let state = crowd.end().await;
    assert_eq!(state.overlaps.load(Ordering::SeqCst), 0);
}
