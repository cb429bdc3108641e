//! What callers in line are told if they give up while one node of three does not vote. An attempt is
//! decided then by the first vote "held"; a majority has said "held" with the second one.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use super::one_node_less::{ABSENCES, Absence, without_the_third};
use super::slow_nodes::{Slow, serve};
use super::*;
use crate::error::{Contended, NodeOutcome, Unavailable};

/// Notes that it was woken.
#[derive(Default)]
struct Flag(AtomicBool);

impl std::task::Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

fn contended(error: AcquireError) -> Contended {
    match error {
        AcquireError::Contended(contended) => contended,
        other => panic!("it is held, and the caller was told: {other}"),
    }
}

fn unavailable(error: AcquireError) -> Unavailable {
    match error {
        AcquireError::Unavailable(unavailable) => unavailable,
        other => panic!("no majority has answered, and the caller was told: {other}"),
    }
}

/// Waits `limit`, and never tries again by itself before that.
fn short(limit: Duration) -> Request {
    let mut request = waiting();
    request.retry.limit = RetryLimit::Wait(limit);
    request.retry.delay = SECOND * 60;
    request
}

/// The first caller, which asks the nodes, and the nodes.
struct Asked {
    scene: Scene,
    slow: Vec<Arc<Slow>>,
    set: NodeSet,
    head: Acquiring,
}

impl Asked {
    /// The first caller waits for the answers to its first attempt, and pauses for `delay` at most.
    fn first(absence: Absence, delay: Duration) -> Self {
        let scene = Scene::new();
        let (slow, set) = without_the_third(&scene, absence);
        let mut patient = waiting();
        patient.retry.delay = delay;
        let mut head = scene.acquire_on(&set, &patient);
        assert!(is_waiting(&mut head));
        Self {
            scene,
            slow,
            set,
            head,
        }
    }

    /// The first caller was refused by one vote, and waits for the lock.
    fn new(absence: Absence) -> Self {
        let mut asked = Self::first(absence, SECOND * 60);
        asked.is_refused();
        asked
    }

    /// A caller that stands in line.
    fn in_line(&self, request: &Request) -> Acquiring {
        let mut waits = self.scene.acquire_on(&self.set, request);
        assert!(is_waiting(&mut waits));
        waits
    }

    /// The first caller is refused by one vote.
    fn is_refused(&mut self) {
        serve(&self.slow[..1]);
        assert!(is_waiting(&mut self.head));
    }
}

#[test]
fn a_caller_in_line_is_told_of_the_holder_once_the_second_vote_has_come() {
    for absence in ABSENCES {
        let mut asked = Asked::new(absence);
        let mut tries = asked.in_line(&once());
        let flag = Arc::new(Flag::default());
        let waker = Waker::from(Arc::clone(&flag));
        let is_waiting_still = tries.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(is_waiting_still.is_pending(), "{absence:?}");
        serve(&asked.slow[1..2]);
        assert!(!flag.0.load(Relaxed));
        assert!(is_waiting(&mut asked.head));
        assert!(flag.0.load(Relaxed), "{absence:?}: it was not woken");
        let told = contended(refused(&mut tries));
        assert_eq!(told.holding.value.as_deref(), Some(&b"someone"[..]));
        assert_eq!(told.attempts, 0);
    }
}

/// The first caller is not polled any more.
#[test]
fn a_caller_whose_time_is_up_counts_the_votes_that_are_there_by_then() {
    for is_voted in [true, false] {
        for absence in ABSENCES {
            let asked = Asked::new(absence);
            let mut waits = asked.in_line(&short(MS * 80));
            let mut tries = asked.in_line(&once());
            // The last attempt of a caller that waits 80 ms would begin after 60 ms. The nodes have
            // 50 ms to answer.
            asked.scene.clock.advance(MS * 49);
            assert!(is_waiting(&mut waits) && is_waiting(&mut tries));
            if is_voted {
                serve(&asked.slow[1..2]);
            }
            asked.scene.clock.advance(MS * 11);
            for caller in [&mut tries, &mut waits] {
                if is_voted {
                    assert_eq!(contended(refused(caller)).attempts, 0);
                    continue;
                }
                let told = unavailable(refused(caller));
                let outcomes: Vec<_> = told.nodes.iter().map(|node| &node.outcome).collect();
                assert!(
                    matches!(
                        outcomes[..],
                        [
                            NodeOutcome::Held,
                            NodeOutcome::NoAnswer(_),
                            NodeOutcome::Failed(_)
                        ]
                    ),
                    "{told}"
                );
            }
        }
    }
}

/// The nodes are asked again before a caller that was woken is polled.
#[test]
fn a_newer_attempt_that_is_not_voted_on_yet_does_not_hide_the_one_before() {
    for absence in ABSENCES {
        let mut asked = Asked::first(absence, MS * 10);
        asked.is_refused();
        let mut tries = asked.in_line(&once());
        // The second node answers the attempt before, and is asked again.
        serve(&asked.slow[1..2]);
        asked.scene.clock.advance(MS * 10);
        assert!(is_waiting(&mut asked.head));
        asked.is_refused();
        contended(refused(&mut tries));
    }
}

/// The caller that asked is not polled until the next caller has the turn, and asks as well.
#[test]
fn a_caller_is_told_of_an_attempt_whose_caller_has_lost_the_turn() {
    for is_next_refused in [false, true] {
        for absence in ABSENCES {
            let mut asked = Asked::first(absence, SECOND * 60);
            let mut next = asked.in_line(&waiting());
            let mut waits = asked.in_line(&short(MS * 300));
            serve(&asked.slow[..2]);
            // The turn ends 250 ms after the attempt began: five times the nodes' timeout. From then on
            // the caller that waits 300 ms would have no time for an attempt of its own.
            asked.scene.clock.advance(MS * 250);
            assert!(is_waiting(&mut next) && is_waiting(&mut waits));
            if is_next_refused {
                // By one vote: the second one is missing.
                serve(&asked.slow[..1]);
                assert!(is_waiting(&mut next) && is_waiting(&mut waits));
            }
            assert!(is_waiting(&mut asked.head));
            assert_eq!(contended(refused(&mut waits)).attempts, 0);
        }
    }
}

#[test]
fn a_caller_is_told_at_once_if_the_missing_vote_makes_no_difference() {
    let asked = Asked::new(Absence::Dead);
    asked.scene.nodes[0].cut();
    let mut patient = waiting();
    patient.retry.delay = SECOND * 60;
    patient.resource = "s".into();
    let mut head = asked.scene.acquire_on(&asked.set, &patient);
    assert!(is_waiting(&mut head));
    serve(&asked.slow[..1]);
    assert!(is_waiting(&mut head));
    let mut tries = once();
    tries.resource = "s".into();
    let told = unavailable(refused(&mut asked.scene.acquire_on(&asked.set, &tries)));
    assert!(
        matches!(told.nodes[1].outcome, NodeOutcome::NotAwaited),
        "{told}"
    );
}

#[test]
fn a_caller_that_gives_up_before_any_answer_blames_no_node() {
    for limit in [MS * 20, MS * 80] {
        let asked = Asked::first(Absence::Dead, SECOND * 60);
        let mut waits = asked.in_line(&short(limit));
        asked.scene.clock.advance(limit / 4 * 3);
        assert!(is_waiting(&mut waits));
        asked.scene.clock.advance(limit / 4);
        let told = unavailable(refused(&mut waits));
        assert_eq!((told.granted, told.needed, told.attempts), (0, 2, 0));
        assert_eq!(told.nodes.len(), 3);
        let is_blamed = |outcome: &NodeOutcome| !matches!(outcome, NodeOutcome::NotAwaited);
        assert!(!told.nodes.iter().any(|node| is_blamed(&node.outcome)));
        let waited = limit.as_millis();
        let text = format!(
            "gave up after {waited} ms behind other callers of this process, before the nodes answered those"
        );
        assert_eq!(told.to_string(), text);
    }
}

#[test]
fn a_caller_that_is_dropped_while_it_waits_for_the_second_vote_leaves_nothing() {
    let asked = Asked::new(Absence::Dead);
    drop(asked.in_line(&once()));
    let lines = &asked.scene.client.shared.lines;
    assert_eq!(lines.waiting(), 0);
    drop(asked.head);
    assert_eq!(lines.known(), 0);
}
