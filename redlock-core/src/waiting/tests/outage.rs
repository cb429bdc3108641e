//! Outages: without a majority, no holder is known, so a caller has no release to wait for.

use super::*;

fn waits(limit: Duration) -> Request {
    let mut request = waiting();
    request.retry_limit = RetryLimit::Wait(limit);
    request
}

/// Lets time pass for callers. Returns the errors of the callers that ended.
fn pass(scene: &Scene, callers: &mut Vec<Acquiring>, time: Duration) -> Vec<AcquireError> {
    let mut errors = Vec::new();
    for _ in 0..time.as_millis() / 10 {
        scene.clock.advance(MS * 10);
        callers.retain_mut(|caller| match poll(caller) {
            Poll::Pending => true,
            Poll::Ready(ended) => {
                errors.extend(ended.err());
                false
            }
        });
    }
    errors
}

#[test]
fn a_caller_and_its_line_end_after_retries_if_nobody_answers() {
    let scene = Scene::new();
    scene.nodes[..2].iter().for_each(MemoryNode::cut);
    let patient = waits(SECOND * 60);
    let mut callers = vec![scene.acquire(&patient)];
    assert!(is_waiting(&mut callers[0]));
    callers.resize_with(9, || scene.acquire(&patient));
    let errors = pass(&scene, &mut callers, SECOND);
    assert_eq!((errors.len(), callers.len()), (9, 0));
    for error in errors {
        let error = unavailable(error);
        let text = error.to_string();
        assert!(text.contains("; a: cut off; b: cut off"), "{text}");
        let why =
            ", before its `wait` was over: no majority answered this process's last two retries";
        assert!(text.ends_with(why), "{text}");
        assert!(error.attempts <= 3, "{text}");
    }
}

/// Counts only unanswered attempts in a row, for a caller in line too.
#[test]
fn outages_that_pass_do_not_end_the_wait_for_a_holder() {
    let scene = Scene::new();
    scene.hold_elsewhere();
    let mut callers = vec![
        scene.acquire(&waits(SECOND * 60)),
        scene.acquire(&waits(SECOND * 60)),
    ];
    for _ in 0..20 {
        scene.nodes.iter().for_each(MemoryNode::cut);
        assert!(pass(&scene, &mut callers, MS * 200).is_empty());
        scene.nodes.iter().for_each(MemoryNode::restore);
        assert!(pass(&scene, &mut callers, MS * 400).is_empty());
    }
    assert_eq!(callers.len(), 2);
}
