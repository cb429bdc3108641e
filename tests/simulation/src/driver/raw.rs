//! Single operations on one node, submitted in every order that the contract of a node allows.

use std::future::{Future as _, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use redlock_core::env::Clock;
use redlock_core::node::{Call, Vote};
use redlock_core::testing::{QuorumWatch, ask};
use redlock_core::{Node, NodeSet};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::random::Random;

use super::hand::Hand;
use super::lending::Whereabouts;
use super::log::{Kind, What};
use super::places::Shape;
use super::town::Shared;

/// One submission, and what was answered.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) call: Arc<Call>,
    pub(super) what: What,
    /// In µs.
    pub(super) since: u64,
    /// Its caller does not wait for the answer.
    pub(super) is_dropped: bool,
    pub(super) answer: Option<(u64, Vote)>,
}

pub(super) struct Desk {
    pub(super) town: Shared,
    pub(super) node: Arc<dyn Node>,
    pub(super) shape: Shape,
    pub(super) asked: Mutex<Vec<Asked>>,
    pub(super) clock: Arc<dyn Clock>,
}

/// Longer than a run.
const TTL: Duration = Duration::from_secs(300);

/// Longer than any ttl: each operation has another one.
pub(super) const LONGEST_TTL: Duration = Duration::from_secs(400);

/// Far longer than any answer may take.
const PATIENCE: Duration = Duration::from_secs(80);

impl Desk {
    /// Submits an operation now, and follows it to its answer. Returns its place among all.
    pub(super) async fn submit(
        self: &Arc<Self>,
        there: &Whereabouts,
        hand: &Hand,
        kind: Kind,
    ) -> (usize, JoinHandle<()>) {
        // Each has another ttl, so that it is known among all that a server did.
        let index = self.asked.lock().expect("no panic").len();
        self.submit_numbered(there, hand, kind, index).await
    }

    /// Has the locks extended by one ttl, at once.
    async fn extend_all(
        self: &Arc<Self>,
        there: &Whereabouts,
        hands: &[Hand],
    ) -> Vec<JoinHandle<()>> {
        let index = self.asked.lock().expect("no panic").len();
        let mut answers = Vec::new();
        for hand in hands {
            let extending = self.submit_numbered(there, hand, Kind::Extend, index);
            answers.push(extending.await.1);
        }
        answers
    }

    async fn submit_numbered(
        self: &Arc<Self>,
        there: &Whereabouts,
        hand: &Hand,
        kind: Kind,
        number: usize,
    ) -> (usize, JoinHandle<()>) {
        let index = self.asked.lock().expect("no panic").len();
        let ttl = TTL + Duration::from_millis(number as u64);
        let hint = u64::try_from(self.clock.wall().as_micros()).unwrap_or(0);
        let hint = hint
            + if kind == Kind::Confirm {
                index as u64
            } else {
                0
            };
        let call = Arc::new(hand.call(kind, ttl, hint));
        let what = What::of_call(&call);
        let since = {
            let mut town = self.town.lock().expect("no panic");
            town.tell(|| {
                let (id, number) = (hand.token.short_id(), what.number);
                format!("asks for {kind:?} by {id} with {number}")
            });
            town.now()
        };
        self.asked.lock().expect("no panic").push(Asked {
            call: Arc::clone(&call),
            what,
            since,
            is_dropped: false,
            answer: None,
        });
        let node = Arc::clone(&self.node);
        let mut asking = Box::pin(there.run(async move { ask(&*node, call).await }));
        // Submitted here and now, and not when the task is first polled.
        let first = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context))).await;
        let desk = Arc::clone(self);
        let following = tokio::spawn(async move {
            let answer = match first {
                Poll::Ready(answer) => Some(answer),
                Poll::Pending => timeout(PATIENCE, asking).await.ok(),
            };
            let now = desk.town.lock().expect("no panic").now();
            let mut asked = desk.asked.lock().expect("no panic");
            asked[index].answer = answer.map(|answer| (now, answer));
        });
        (index, following)
    }

    /// The same, and waits for the answer. `None` if there is none.
    pub(super) async fn ask(
        self: &Arc<Self>,
        there: &Whereabouts,
        hand: &Hand,
        kind: Kind,
    ) -> Option<Vote> {
        let (index, following) = self.submit(there, hand, kind).await;
        let _ = following.await;
        let asked = self.asked.lock().expect("no panic");
        asked[index].answer.clone().map(|(_, answer)| answer)
    }

    /// The same, for a caller that is dropped before the answer.
    pub(super) async fn leave(self: &Arc<Self>, there: &Whereabouts, hand: &Hand, kind: Kind) {
        let (index, following) = self.submit(there, hand, kind).await;
        self.asked.lock().expect("no panic")[index].is_dropped = true;
        following.abort();
    }
}

/// The most calls in a row: the connection is lent after about half of them.
const STREAK: u64 = 40;

/// Takes and releases locks one after another, with all that may come between.
pub(super) async fn call(desk: Arc<Desk>, there: Whereabouts, mut random: Random) {
    let mut answers = Vec::new();
    let mut before: Option<Hand> = None;
    // In a Cluster, an acquisition that hangs at a master may come behind its release if its slot comes back.
    let waits = desk.shape == Shape::Cluster;
    while !desk.town.lock().expect("no panic").is_calm {
        if there.place.is_some() && random.chance(2000) {
            let asked = Hand::draw(&mut random);
            for _ in 0..random.below(STREAK) {
                desk.ask(&there, &asked, Kind::Inspect).await;
            }
        }
        let mut hand = Hand::draw(&mut random);
        if let Some(before) = before.take() {
            hand = Hand::behind(&before, &mut random);
            answers.push(desk.submit(&there, &before, Kind::Release).await.1);
        }
        let is_left = !waits && random.chance(500);
        if is_left {
            desk.leave(&there, &hand, Kind::Acquire).await;
        } else if waits || random.chance(5000) {
            if let Some(answer) = desk.ask(&there, &hand, Kind::Acquire).await {
                hand.granted(&answer);
            }
        } else {
            answers.push(desk.submit(&there, &hand, Kind::Acquire).await.1);
        }
        for _ in 0..if is_left { 0 } else { random.below(4) } {
            let kind = random.pick(&hand.kinds());
            let (_, asked) = desk.submit(&there, &hand, kind).await;
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
                answers.push(desk.submit(&there, &other, Kind::Acquire).await.1);
                others.push(other);
            }
            answers.extend(desk.extend_all(&there, &others).await);
        }
        let most = random.pick(&[1, 1, 2_000, 50_000, 400_000]);
        sleep(Duration::from_micros(random.below(most))).await;
        if !others.is_empty() && random.chance(5000) {
            answers.extend(desk.extend_all(&there, &others).await);
        }
        for other in others {
            answers.push(desk.submit(&there, &other, Kind::Release).await.1);
        }
        if random.chance(1500) {
            // It is released right ahead of the next one's acquisition of the same keys.
            before = Some(hand);
        } else {
            answers.push(desk.submit(&there, &hand, Kind::Release).await.1);
        }
        sleep(Duration::from_micros(1 + random.below(100_000))).await;
    }
    if let Some(before) = before {
        answers.push(desk.submit(&there, &before, Kind::Release).await.1);
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
        there: &Whereabouts,
        name: &str,
        random: &mut Random,
    ) -> Result<Self, String> {
        let hand = Hand::plain(name, random);
        let answer = desk.ask(there, &hand, Kind::Acquire).await;
        let Some(Vote::Granted { .. }) = answer else {
            let status = desk.node.status();
            return Err(format!(
                "a free lock is refused when all is well: {answer:?}, {status:?}"
            ));
        };
        let nodes: NodeSet = [Arc::clone(&desk.node)].into();
        let watch = QuorumWatch::begin(&desk.clock, &nodes, hand.keys(), 1);
        Ok(Self { hand, watch })
    }

    /// Whoever waits is told of a release, and neither before nor much later. To be called when all is
    /// well again.
    pub(super) async fn end(self, desk: &Arc<Desk>, there: &Whereabouts) -> Result<(), String> {
        let key = self.hand.keys().names().next().unwrap_or_default();
        let left = desk.town.lock().expect("no panic").locks_left();
        let is_held = left.iter().any(|(_, name, _)| name == key);
        let early = timeout(Duration::from_secs(2), self.watch.free()).await;
        if early.is_ok() && is_held {
            return Err("a lock that is held was seen to be free".to_owned());
        }
        let (_, released) = desk.submit(there, &self.hand, Kind::Release).await;
        let told = timeout(Duration::from_secs(1), self.watch.free()).await;
        let _ = released.await;
        if told.is_err() {
            return Err("nobody told of a release".to_owned());
        }
        Ok(())
    }
}

/// The last words before the end: what was submitted is still sent. No caller waits for the answers, or keeps
/// the node.
pub(super) async fn say_goodbye(desk: &Arc<Desk>, there: &Whereabouts, random: &mut Random) {
    let left = Hand::draw(random);
    for kind in [Kind::Acquire, Kind::Release] {
        desk.leave(there, &left, kind).await;
    }
}
