//! Lines over nodes that answer late, or not all alike.

use parking_lot::Mutex;

use super::*;
use crate::node::watch::Watch;
use crate::node::{Call, Effect, NodeStatus, Reply};

/// Answers when it is told to.
pub(super) struct Slow {
    node: MemoryNode,
    asked: Mutex<Vec<(Arc<Call>, Reply)>>,
    abstains: std::sync::atomic::AtomicBool,
    hesitates: std::sync::atomic::AtomicBool,
}

impl Slow {
    pub(super) fn over(node: &MemoryNode) -> Arc<Self> {
        Arc::new(Self {
            node: node.clone(),
            asked: Mutex::default(),
            abstains: false.into(),
            hesitates: false.into(),
        })
    }

    /// From here on it answers when it is told to.
    pub(super) fn hesitate(&self) {
        use std::sync::atomic::Ordering::Relaxed;
        self.hesitates.store(true, Relaxed);
    }

    /// From here on it answers at once again.
    pub(super) fn answer_at_once(&self) {
        use std::sync::atomic::Ordering::Relaxed;
        self.hesitates.store(false, Relaxed);
    }

    /// From here on it votes no.
    pub(super) fn abstain(&self) {
        use std::sync::atomic::Ordering::Relaxed;
        self.abstains.store(true, Relaxed);
    }

    fn serve(&self) {
        let asked = std::mem::take(&mut *self.asked.lock());
        for (call, reply) in asked {
            self.node.submit(call, reply);
        }
    }
}

pub(super) fn serve(nodes: &[Arc<Slow>]) {
    for node in nodes {
        node.serve();
    }
}

impl Node for Slow {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn submit(&self, call: Arc<Call>, reply: Reply) {
        use std::sync::atomic::Ordering::Relaxed;
        let is_release = call.is_release();
        if self.abstains.load(Relaxed) && !is_release {
            // As a node does that votes no: releases go out.
            drop(reply);
        } else if self.hesitates.load(Relaxed) {
            self.asked.lock().push((call, reply));
        } else {
            self.node.submit(call, reply);
        }
    }

    fn drained(&self) -> bool {
        self.asked.lock().is_empty() && self.node.drained()
    }

    fn status(&self) -> NodeStatus {
        self.node.status()
    }

    fn watch(&self, watch: Watch) {
        self.node.watch(watch);
    }
}

/// The turn came, and was taken over while the future was not polled; who took it has come and gone.
#[test]
fn one_who_lost_its_turn_gets_the_lock_when_nobody_is_there_any_more() {
    for lingers in [Duration::ZERO, MS * 60] {
        let scene = Scene::new();
        let request = waiting();
        let holder = scene.acquired(&request);
        let mut sleeper = scene.acquire(&request);
        let mut next = scene.acquire(&request);
        assert!(is_waiting(&mut sleeper) && is_waiting(&mut next));
        released(holder);
        scene.clock.advance(MS * 250);
        let lease = acquired(&mut next);
        scene.clock.advance(lingers);
        released(lease);
        assert!(scene.is_free());
        let has_got_it = (0..100).any(|_| {
            if let Poll::Ready(lease) = poll(&mut sleeper) {
                drop(lease.unwrap());
                return true;
            }
            scene.clock.advance(MS * 50);
            // Others come and go elsewhere.
            drop(scene.acquired(&Request::new("other")));
            false
        });
        assert!(has_got_it, "5 s in front of a free lock");
        assert_eq!(scene.client.shared.lines.state.lock().waiting, 0);
    }
}

#[test]
fn a_break_is_not_longer_than_the_callers_time() {
    let scene = Scene::new();
    let slow: Vec<_> = scene.nodes.iter().map(Slow::over).collect();
    let set: NodeSet = slow
        .iter()
        .map(|node| Arc::clone(node) as Arc<dyn Node>)
        .collect();
    let holder = acquired(&mut scene.acquire_on(&set, &waiting()));
    scene.clock.advance(MS * 60);
    drop(holder);
    for node in &slow {
        node.hesitates
            .store(true, std::sync::atomic::Ordering::Relaxed);
    }
    let mut request = Request::new("r").ttl(TTL);
    request.retry.limit = RetryLimit::Wait(MS * 100);
    let mut waits = scene.acquire_on(&set, &request);
    let mut passed = Duration::ZERO;
    while is_waiting(&mut waits) {
        // A round trip of 40 ms.
        scene.clock.advance(MS * 40);
        passed += MS * 40;
        for node in &slow {
            node.serve();
        }
        assert!(passed <= MS * 140, "{passed:?} and still waiting");
    }
}

/// Somebody who tries once comes while the head takes its break, in which another process comes.
#[test]
fn one_who_tries_once_behind_a_break_hears_who_has_the_lock() {
    let scene = Scene::new();
    let slow: Vec<_> = scene.nodes.iter().map(Slow::over).collect();
    let set: NodeSet = slow
        .iter()
        .map(|node| Arc::clone(node) as Arc<dyn Node>)
        .collect();
    let holder = acquired(&mut scene.acquire_on(&set, &waiting()));
    scene.clock.advance(MS * 60);
    drop(holder);
    for node in &slow {
        node.hesitates
            .store(true, std::sync::atomic::Ordering::Relaxed);
    }
    let mut patient = waiting();
    patient.retry.delay = SECOND;
    let mut head = scene.acquire_on(&set, &patient);
    assert!(is_waiting(&mut head));
    let mut tries = scene.acquire_on(&set, &once());
    let is_woken = Arc::new(Flag(false.into()));
    let waker = Waker::from(Arc::clone(&is_woken));
    let polled = tries.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    scene.hold_elsewhere();
    serve(&slow);
    assert!(is_waiting(&mut head));
    assert!(is_woken.0.load(std::sync::atomic::Ordering::Relaxed));
    let refusal = refused(&mut tries);
    assert!(matches!(refusal, AcquireError::Contended(_)), "{refusal}");
}

struct Flag(std::sync::atomic::AtomicBool);

impl std::task::Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// The last waker of a task may drop the task, and with it a lease or a place in a line.
#[test]
fn no_waker_is_dropped_while_the_lines_are_locked() {
    struct Last {
        client: Client,
        was_locked: Arc<std::sync::atomic::AtomicBool>,
    }
    impl std::task::Wake for Last {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Last {
        fn drop(&mut self) {
            let is_locked = self.client.shared.lines.state.is_locked();
            self.was_locked
                .fetch_or(is_locked, std::sync::atomic::Ordering::Relaxed);
        }
    }
    for somebody_waits in [true, false] {
        let scene = Scene::new();
        scene.hold_elsewhere();
        let was_locked = Arc::default();
        let waker = Waker::from(Arc::new(Last {
            client: scene.client.clone(),
            was_locked: Arc::clone(&was_locked),
        }));
        let mut head = scene.acquire(&waiting());
        assert!(
            head.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        drop(waker);
        scene.free_elsewhere();
        // Another task has it now.
        let lease = acquired(&mut head);
        drop(head);
        // Its clock keeps it no longer.
        scene.clock.advance(Duration::ZERO);
        let mut next = scene.acquire(&waiting());
        if somebody_waits {
            assert!(is_waiting(&mut next));
        } else {
            scene.clock.advance(MS * 2);
        }
        released(lease);
        scene.clock.advance(SECOND);
        drop(acquired(&mut scene.acquire(&Request::new("other"))));
        drop(next);
        assert!(
            !was_locked.load(std::sync::atomic::Ordering::Relaxed),
            "{somebody_waits}"
        );
    }
}

/// A caller who goes in the middle of its break has not spared the one behind it the rest.
#[test]
fn a_break_is_not_over_because_the_one_who_took_it_has_gone() {
    let scene = Scene::with(|settings| settings.handover.most = 0);
    let slow: Vec<_> = scene.nodes.iter().map(Slow::over).collect();
    let set: NodeSet = slow
        .iter()
        .map(|node| Arc::clone(node) as Arc<dyn Node>)
        .collect();
    let holder = acquired(&mut scene.acquire_on(&set, &waiting()));
    let mut first = scene.acquire_on(&set, &waiting());
    let mut second = scene.acquire_on(&set, &waiting());
    assert!(is_waiting(&mut first) && is_waiting(&mut second));
    for node in &slow {
        node.hesitates
            .store(true, std::sync::atomic::Ordering::Relaxed);
    }
    drop(holder);
    serve(&slow);
    assert!(is_waiting(&mut first));
    drop(first);
    serve(&slow);
    assert!(is_waiting(&mut second));
    let asked = std::mem::take(&mut *slow[0].asked.lock());
    let effects: Vec<_> = asked.iter().map(|(call, _)| call.effect()).collect();
    for node in &slow {
        node.hesitates
            .store(false, std::sync::atomic::Ordering::Relaxed);
    }
    assert!(effects.iter().all(|it| *it == Effect::Looks), "{effects:?}");
}

/// As in a stream of futures whose task is busy elsewhere.
#[test]
fn several_who_are_not_polled_do_not_stop_a_line() {
    let scene = Scene::new();
    let request = waiting();
    let holder = scene.acquired(&request);
    let mut unpolled: Vec<_> = (0..3).map(|_| scene.acquire(&request)).collect();
    assert!(unpolled.iter_mut().all(is_waiting));
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    released(holder);
    // The first of them has the turn, and each may take its time.
    let lease = (0..200).find_map(|_| match poll(&mut next) {
        Poll::Ready(lease) => Some(lease.unwrap()),
        Poll::Pending => {
            scene.clock.advance(MS * 10);
            None
        }
    });
    assert!(lease.is_some(), "2 s behind a turn that nobody takes");
    drop(lease);
    for mut sleeper in unpolled {
        scene.clock.advance(MS * 10);
        drop(acquired(&mut sleeper));
    }
    assert!(scene.is_free());
}
