//! Breaks for other processes, and the wakers of callers that wait for the end of a break.

use super::blind::patient;
use super::*;

/// Adds a caller with one attempt during a break in which another process comes.
#[test]
fn one_who_tries_once_behind_a_break_hears_who_has_the_lock() {
    let scene = Scene::new();
    let holder = scene.acquired(&waiting());
    scene.clock.advance(MS * 60);
    drop(holder);
    scene.nodes.iter().for_each(MemoryNode::hang);
    let mut head = scene.waits(&patient());
    let mut tries = scene.waits(&once());
    scene.hold_elsewhere();
    scene.serve();
    assert!(is_waiting(&mut head));
    scene.clock.advance(MS);
    contended(refused(&mut tries));
}

/// Drops the first caller during its break. The next caller must finish the break.
#[test]
fn a_break_is_not_over_because_the_one_who_took_it_has_gone() {
    let scene = Scene::with(Settings::default().handover_time(Duration::ZERO));
    let holder = scene.acquired(&waiting());
    let mut first = scene.acquire(&waiting());
    let mut second = scene.acquire(&waiting());
    assert!(is_waiting(&mut first) && is_waiting(&mut second));
    scene.nodes.iter().for_each(MemoryNode::hang);
    drop(holder);
    scene.serve();
    assert!(is_waiting(&mut first));
    drop(first);
    scene.serve();
    assert!(is_waiting(&mut second));
    scene.serve();
    assert!(scene.is_free(), "the nodes were asked for the lock");
}

/// Drops the last waker of a task. The drop may end the task, and with it a lease or a place in a line.
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
            let is_locked = self.client.shared.lines.is_locked();
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
        // Replace the waker in the node by the waker of another task.
        let lease = acquired(&mut head);
        drop(head);
        // Make the clock drop its waker.
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
