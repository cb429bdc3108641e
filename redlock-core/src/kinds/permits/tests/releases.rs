//! Releases of attempts on permits. Nodes that fail each release show which releases they owe.

use crate::kinds::Kind;
use crate::waiting::tests::*;

#[test]
fn a_refused_attempt_is_released_only_where_it_was_granted() {
    let scene = Scene::new();
    let request = once().kind(Kind::Permits(2));
    let held = [scene.acquired(&request), scene.acquired(&request)];
    scene.nodes[2].delete(b"r");
    scene.nodes.iter().for_each(MemoryNode::hang);
    let mut third = scene.waits(&request);
    scene.nodes.iter().for_each(MemoryNode::restore);
    scene.nodes.iter().for_each(|node| node.fail("OOM"));
    refused(&mut third);
    let are_drained: Vec<_> = scene.nodes.iter().map(Node::drained).collect();
    assert_eq!(are_drained, [true, true, false]);
    drop(held);
}
