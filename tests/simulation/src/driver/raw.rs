//! Single operations on one node, submitted in every order that the contract of a node allows.

use std::future::{Future as _, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use redlock_core::env::Clock;
use redlock_core::node::{Answer, Operation, OwnerToken, Want};
use redlock_core::testing::{QuorumWatch, ask};
use redlock_core::{Node, NodeSet, Resource};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::random::{Random, SeededEntropy};

use super::log::Kind;
use super::places::Shape;
use super::town::Shared;

/// One submission, and what was answered.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) kind: Kind,
    pub(super) key: Vec<u8>,
    pub(super) token: Vec<u8>,
    pub(super) number: u64,
    /// In µs.
    pub(super) since: u64,
    pub(super) answer: Option<(u64, Answer)>,
}

pub(super) struct Desk {
    pub(super) town: Shared,
    pub(super) node: Arc<dyn Node>,
    pub(super) shape: Shape,
    pub(super) asked: Mutex<Vec<Asked>>,
    pub(super) clock: Arc<dyn Clock>,
}

/// What a caller holds in its hands: a lock's keys and its token.
struct Hand {
    keys: Resource,
    counters: Option<Resource>,
    token: OwnerToken,
}

impl Hand {
    fn draw(random: &mut Random) -> Self {
        let tag = random.pick(&["{a}", "{b}", "{c}", "{d}"]);
        let is_fenced = random.chance(3000);
        let keys = match random.below(4) {
            0 => Resource::all([format!("{tag}1"), format!("{tag}2")]),
            1 => Resource::from(format!("{tag}2").as_str()),
            _ => Resource::from(format!("{tag}1").as_str()),
        };
        let counters = keys.names().map(|name| [&b"fence:"[..], name].concat());
        let counters = is_fenced.then(|| Resource::all(counters));
        let owner = format!("simulated/{}", 1 + random.below(9));
        let entropy = SeededEntropy::new(random.fork());
        Self {
            token: OwnerToken::draw(&owner, &entropy),
            keys,
            counters,
        }
    }
}

/// Longer than a run.
const TTL: Duration = Duration::from_secs(300);

/// Far longer than any answer may take.
const PATIENCE: Duration = Duration::from_secs(80);

impl Desk {
    /// Submits an operation now, and follows it to its answer.
    async fn submit(self: &Arc<Self>, hand: &Hand, kind: Kind) -> JoinHandle<()> {
        // Each has another ttl, so that it is known among all that a server did.
        let index = self.asked.lock().expect("no panic").len();
        self.submit_numbered(hand, kind, index).await
    }

    /// Has the locks extended by one ttl, at once.
    async fn extend_all(self: &Arc<Self>, hands: &[Hand]) -> Vec<JoinHandle<()>> {
        let index = self.asked.lock().expect("no panic").len();
        let mut answers = Vec::new();
        for hand in hands {
            answers.push(self.submit_numbered(hand, Kind::Extend, index).await);
        }
        answers
    }

    async fn submit_numbered(
        self: &Arc<Self>,
        hand: &Hand,
        kind: Kind,
        number: usize,
    ) -> JoinHandle<()> {
        let index = self.asked.lock().expect("no panic").len();
        let ttl = TTL + Duration::from_millis(number as u64);
        let number = u64::try_from(ttl.as_millis()).unwrap_or(0);
        let hint = u64::try_from(self.clock.wall().as_micros()).unwrap_or(0);
        let want = match kind {
            Kind::Acquire => Want::Acquire { ttl, hint },
            Kind::Confirm => Want::Confirm {
                counter: hint + index as u64,
                ttl,
            },
            Kind::Extend => Want::Extend { ttl },
            Kind::Restore => Want::Restore { ttl },
            Kind::Shorten => Want::Shorten { ttl },
            Kind::Release => Want::Release { ttl },
            Kind::Inspect => Want::Inspect,
        };
        let number = match kind {
            Kind::Confirm => hint + index as u64,
            Kind::Release | Kind::Inspect => 0,
            _ => number,
        };
        let counters = hand.counters.clone();
        let counters = counters.filter(|_| matches!(kind, Kind::Acquire | Kind::Confirm));
        let operation =
            Operation::new(hand.keys.clone(), hand.token.clone(), want).with_counters(counters);
        let is_tokenless = kind == Kind::Inspect;
        let since = {
            let mut town = self.town.lock().expect("no panic");
            town.tell(|| {
                format!(
                    "asks for {kind:?} by {} with {number}",
                    hand.token.short_id()
                )
            });
            town.now()
        };
        self.asked.lock().expect("no panic").push(Asked {
            kind,
            key: hand.keys.names().next().unwrap_or_default().to_vec(),
            token: if is_tokenless {
                Vec::new()
            } else {
                hand.token.as_bytes().to_vec()
            },
            number,
            since,
            answer: None,
        });
        let node = Arc::clone(&self.node);
        let mut asking = Box::pin(async move { ask(&*node, operation).await });
        // Submitted here and now, and not when the task is first polled.
        let first = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context))).await;
        let desk = Arc::clone(self);
        tokio::spawn(async move {
            let answer = match first {
                Poll::Ready(answer) => Some(answer),
                Poll::Pending => timeout(PATIENCE, asking).await.ok(),
            };
            let now = desk.town.lock().expect("no panic").now();
            let mut asked = desk.asked.lock().expect("no panic");
            asked[index].answer = answer.map(|answer| (now, answer));
        })
    }
}

/// Takes and releases locks one after another, with all that may come between.
pub(super) async fn call(desk: Arc<Desk>, mut random: Random) {
    let mut answers = Vec::new();
    let mut before: Option<Hand> = None;
    // In a Cluster, only a claim knows how to take back an acquisition that is on its way to another
    // server.
    let waits = desk.shape == Shape::Cluster;
    while !desk.town.lock().expect("no panic").is_calm {
        let mut hand = Hand::draw(&mut random);
        if let Some(before) = before.take() {
            (hand.keys, hand.counters) = (before.keys.clone(), before.counters.clone());
            answers.push(desk.submit(&before, Kind::Release).await);
        }
        let acquired = desk.submit(&hand, Kind::Acquire).await;
        if waits || random.chance(5000) {
            let _ = acquired.await;
        } else {
            answers.push(acquired);
        }
        for _ in 0..random.below(4) {
            let fenced = [Kind::Confirm, Kind::Extend, Kind::Restore, Kind::Shorten];
            let plain = [Kind::Extend, Kind::Inspect, Kind::Restore, Kind::Shorten];
            let kinds = if hand.counters.is_some() {
                fenced
            } else {
                plain
            };
            let asked = desk.submit(&hand, random.pick(&kinds)).await;
            if waits || random.chance(3000) {
                let _ = asked.await;
            } else {
                answers.push(asked);
            }
        }
        let mut others = Vec::new();
        if !waits && random.chance(2000) {
            for _ in 0..=random.below(4) {
                let other = Hand::draw(&mut random);
                answers.push(desk.submit(&other, Kind::Acquire).await);
                others.push(other);
            }
            answers.extend(desk.extend_all(&others).await);
        }
        let most = random.pick(&[1, 1, 2_000, 50_000, 400_000]);
        sleep(Duration::from_micros(random.below(most))).await;
        if !others.is_empty() && random.chance(5000) {
            answers.extend(desk.extend_all(&others).await);
        }
        for other in others {
            answers.push(desk.submit(&other, Kind::Release).await);
        }
        if random.chance(1500) {
            // It is released right ahead of the next one's acquisition of the same keys.
            before = Some(hand);
        } else {
            answers.push(desk.submit(&hand, Kind::Release).await);
        }
        sleep(Duration::from_micros(1 + random.below(100_000))).await;
    }
    if let Some(before) = before {
        answers.push(desk.submit(&before, Kind::Release).await);
    }
    for answer in answers {
        let _ = answer.await;
    }
}

/// A lock that is held, and a caller that waits for it.
pub(super) struct Waiting {
    hand: Hand,
    watch: QuorumWatch,
}

impl Waiting {
    /// To be called when all is well.
    pub(super) async fn begin(
        desk: &Arc<Desk>,
        name: &str,
        random: &mut Random,
    ) -> Result<Self, String> {
        let mut hand = Hand::draw(random);
        (hand.keys, hand.counters) = (Resource::from(name), None);
        let _ = desk.submit(&hand, Kind::Acquire).await.await;
        let answer = {
            let asked = desk.asked.lock().expect("no panic");
            let of_hand = |asked: &&Asked| asked.token == hand.token.as_bytes();
            asked
                .iter()
                .rfind(of_hand)
                .and_then(|asked| asked.answer.clone())
        };
        let Some((_, Answer::Granted { .. })) = answer else {
            let status = desk.node.status();
            return Err(format!(
                "a free lock is refused when all is well: {answer:?}, {status:?}"
            ));
        };
        let nodes: NodeSet = [Arc::clone(&desk.node)].into();
        let watch = QuorumWatch::begin(&desk.clock, &nodes, &hand.keys, 1);
        Ok(Self { hand, watch })
    }

    /// Whoever waits is told of a release, and neither before nor much later. To be called when all is
    /// well again.
    pub(super) async fn end(self, desk: &Arc<Desk>) -> Result<(), String> {
        let key = self.hand.keys.names().next().unwrap_or_default();
        let (is_held, tells) = {
            let mut town = desk.town.lock().expect("no panic");
            let left = town.locks_left();
            let is_held = left.iter().any(|(_, name, _)| name == key);
            (is_held, town.hosts.values().all(|host| host.version > 5))
        };
        let early = timeout(Duration::from_secs(2), self.watch.free()).await;
        if early.is_ok() && is_held {
            return Err("a lock that is held was seen to be free".to_owned());
        }
        let released = desk.submit(&self.hand, Kind::Release).await;
        let told = timeout(Duration::from_secs(1), self.watch.free()).await;
        let _ = released.await;
        if told.is_err() && tells {
            return Err("nobody told of a release".to_owned());
        }
        Ok(())
    }
}

/// The last words before the end: what was submitted is still sent. Nobody waits for the answers, and
/// no caller keeps the node.
pub(super) async fn say_goodbye(desk: &Arc<Desk>, random: &mut Random) {
    let left = Hand::draw(random);
    for kind in [Kind::Acquire, Kind::Release] {
        desk.submit(&left, kind).await.abort();
    }
}
