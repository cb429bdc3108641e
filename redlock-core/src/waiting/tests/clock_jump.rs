//! A clock jumps ahead after a bare majority granted a lock.

use super::*;

/// Of five nodes, A, B and C grant the first client. C's clock then jumps, and C, D and E grant the second client.
#[test]
fn a_clock_jump_under_a_bare_majority_lets_a_second_holder_in() {
    let [one, other] = [Scene::new(), Scene::new()];
    let (clock_of_c, of_c) = still_clock();
    clock_of_c.advance(SECOND);
    let with = |name, clock: &Arc<StillClock>| MemoryNode::new(name, Arc::clone(clock) as _);
    let [d, e] = ["d", "e"].map(|name| with(name, &one.clock));
    let nodes = [
        one.nodes[0].clone(),
        one.nodes[1].clone(),
        MemoryNode::new("c", of_c),
        d,
        e,
    ];
    let set = set_of(&nodes);
    let mut request = once();
    request.fencing = true;
    // Make both clients draw the same tokens, one after the other.
    drop(other.acquired(&once()));

    nodes[3..].iter().for_each(MemoryNode::cut);
    let first = acquired(&mut one.acquire_on(&set, &request));
    nodes[3..].iter().for_each(MemoryNode::restore);
    let ours = nodes[0].get(b"r");
    let held = || -> String {
        let holder = |node: &MemoryNode| match node.get(b"r") {
            None => '-',
            value if value == ours => '1',
            Some(_) => '2',
        };
        nodes.iter().map(holder).collect()
    };
    assert_eq!(held(), "111--");
    clock_of_c.advance(TTL);
    let second = acquired(&mut other.acquire_on(&set, &request));
    assert_eq!(held(), "11222");
    assert_eq!((first.over(), second.over()), (None, None));
    assert!(second.fencing_token() > first.fencing_token());

    assert!(!extended(&first, TTL));
    assert!(matches!(first.over(), Some(LeaseEnd::Taken(Some(_)))));
    released(first);
    assert_eq!(held(), "--222");
    assert!(extended(&second, TTL));
    assert_eq!(held(), "22222");
}
