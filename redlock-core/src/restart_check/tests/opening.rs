//! Tests of new sets, and of an operator's word.

use super::*;

/// Returns these nodes as another client sees them.
fn beside(nodes: &[Bench; 3]) -> [Bench; 3] {
    let mut others = three(RestartCheck::Standard);
    see(&mut others, nodes);
    others
}

/// Shows `others` the nodes as they are.
fn see(others: &mut [Bench; 3], nodes: &[Bench; 3]) {
    for (other, node) in others.iter_mut().zip(nodes) {
        other.see(node);
    }
}

fn is_unsettled(action: &Action) -> bool {
    matches!(action, Action::Hold { is_settled, .. } if !is_settled)
}

/// Checks the node, and does the write that the check asks for.
fn write(bench: &mut Bench) {
    let Action::Write(write) = bench.check().action else {
        panic!("nothing is to be written");
    };
    assert_eq!(write.expected, bench.marker);
    bench.marker = Some(write.new);
}

/// Writes `opening` on each node.
fn mark(nodes: &mut [Bench; 3]) {
    for node in &mut *nodes {
        node.check();
    }
    nodes.iter_mut().for_each(write);
}

#[test]
fn nobody_votes_before_a_majority_is_marked() {
    let mut nodes = three(RestartCheck::Standard);
    for node in &mut nodes {
        node.check();
    }
    let [a, b, c] = &mut nodes;
    write(a);
    assert!(is_unsettled(&a.settle()));
    b.node_check.unreachable();
    c.node_check.unreachable();
    let settled = a.settle();
    assert!(
        !is_unsettled(&settled),
        "it is all that is reached: {settled:?}"
    );
    c.check();
    write(b);
    assert!(is_unsettled(&b.settle()), "c is reached, and blank");
    c.node_check.unreachable();
    assert_eq!(b.settle(), Action::Vote);
    assert_eq!(a.settle(), Action::Vote);
}

#[test]
fn a_set_is_new_only_to_who_reaches_a_majority_of_it() {
    let [mut a, mut b, mut c] = three(RestartCheck::Standard);
    b.node_check.unreachable();
    c.node_check.unreachable();
    let reason = a.held();
    assert!(reason.contains("until a majority of the pools is reachable"));
    // This client knows nothing about the next node.
    b.settle();
    a.settle();
    assert_eq!([b.settle(), a.settle()], [Action::Vote, Action::Vote]);
    // The last node may have been opened, have granted and have forgotten, unseen by this client.
    c.pass(ms(10));
    c.held();
    c.assert_quarantine(LATE);
}

#[test]
fn a_set_that_is_in_use_is_new_to_nobody_who_slept() {
    let mut nodes = three(RestartCheck::Standard);
    mark(&mut nodes);
    let mut others = beside(&nodes);
    settle_all(&mut others);
    pass(&mut others, ms(60_000));
    others[1].marker = None;
    see(&mut nodes, &others);
    // The client's knowledge of the other nodes is too old.
    let reason = nodes[1].held();
    assert!(reason.contains("until a majority"), "{reason}");
    let [a, b, c] = settle_all(&mut nodes);
    assert_eq!((a, c), (Action::Vote, Action::Vote));
    assert!(matches!(b, Action::Hold { .. }));
    nodes[1].assert_quarantine(LATE);
}

#[test]
fn a_node_that_is_marked_as_it_is_taken_for_restarted_is_opened() {
    let peers = peers(RestartCheck::Standard, 2);
    let [mut a, mut b] = ["run1", "run2"].map(|run_id| Bench::new(&peers, run_id, run_id, false));
    a.marker = Some(marker("run1", a.time));
    assert_eq!(a.settle(), Action::Vote);
    assert!(matches!(b.check().action, Action::Write(_)));
    b.marker = Some(marker("run2", b.time));
    assert_eq!(b.settle(), Action::Vote);
}

/// Returns three nodes that voted and lost their keys, by a restart or a flush.
fn forgot(is_flushed: bool) -> [Bench; 3] {
    let mut nodes = three_voting();
    for (node, restarted) in nodes.iter_mut().zip(["run-d", "run-e", "run-f"]) {
        let run_id = node.run_id.filter(|_| is_flushed).unwrap_or(restarted);
        node.restart(run_id, None);
    }
    pass(&mut nodes, ms(1_000));
    nodes
}

#[test]
fn a_set_that_restarted_empty_waits_for_who_saw_it_in_use() {
    let mut nodes = forgot(false);
    for node in &mut nodes {
        node.held();
        node.assert_quarantine(RESTARTED);
    }
    // A new client waits too, and says why and until when.
    pass(&mut nodes, ms(2_000));
    for mut node in beside(&nodes) {
        let text = node.held();
        assert!(text.starts_with("it restarted, or"), "{text}");
        assert!(text.ends_with("it votes again within 8.7 s"), "{text}");
    }
}

/// Another client, which did not see the set in use, writes first.
#[test]
fn who_saw_a_set_in_use_waits_although_another_took_it_for_new() {
    for (is_open, is_flushed) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut nodes = forgot(is_flushed);
        let mut others = beside(&nodes);
        if is_open {
            settle_all(&mut others);
        } else {
            mark(&mut others);
        }
        see(&mut nodes, &others);
        for node in &mut nodes {
            node.held();
            // If the set is only being opened, no node has voted yet, so all clients wait.
            assert_eq!(node.written().1 == QUARANTINE, !is_open);
            node.is_held_for(QUARANTINE);
        }
    }
}

#[test]
fn an_operators_word_opens_a_set_for_everybody() {
    let mut nodes = forgot(false);
    settle_all(&mut nodes);
    let mut others = beside(&nodes);
    settle_all(&mut others);
    for (node, other) in nodes.iter_mut().zip(&mut others) {
        other.pass(ms(1_000));
        other.marker = Some(IDLE.into());
        assert_eq!(other.settle(), Action::Vote);
        assert_eq!(other.written(), (IDLE.to_owned(), Duration::ZERO));
        // A client that missed the word obeys the marker for it.
        node.see(other);
        assert_eq!(node.settle(), Action::Vote);
    }
    let mut strict = three(RestartCheck::Strict);
    settle_all(&mut strict);
    for mut node in strict {
        node.assert_quarantine(STRICT);
        node.marker = Some(IDLE.into());
        assert_eq!(node.settle(), Action::Vote);
    }
}

#[test]
fn an_operators_word_says_nothing_of_what_comes_after_it() {
    let mut a = Bench::voting();
    a.marker = Some(IDLE.into());
    let verdict = a.check();
    assert!(
        verdict.is_new_epoch,
        "no lease rests on what is opened anew"
    );
    assert_eq!(a.settle(), Action::Vote);
    let word = a.marker.take();
    a.held();
    // A snapshot brings the marker for the word back.
    a.pass(ms(1_000));
    a.restart("run2", word);
    a.held();
    assert_eq!(a.read().run_id, "run2");
}

#[test]
fn an_operators_word_opens_a_server_on_another_host_of_any_time() {
    for trust_aof in [false, true] {
        let mut a = Bench::new(&peers(RestartCheck::Standard, 1), "a", "run1", trust_aof);
        assert_eq!(a.settle(), Action::Vote);
        a.restart("run2", Some(IDLE.into()));
        a.time += ms(7_000);
        // With `trust_aof` the node is on the same host, so its clock stepped.
        assert_eq!(a.settle() == Action::Vote, !trust_aof);
    }
}

#[test]
fn an_operators_word_does_not_cover_a_step_seen_with_it() {
    let mut a = Bench::voting();
    a.marker = Some(IDLE.into());
    a.time += ms(7_000);
    let reason = a.held();
    assert!(reason.starts_with("its clock stepped"), "{reason}");
    // Another client writes the marker for the word, which counts as the same word.
    let since = a.time.as_millis();
    a.marker = Some(format!("1 0 run1 {since} 10000 idle").into_bytes());
    a.held();
    // A second word is newer than the step, so it clears the step too.
    a.marker = Some(IDLE.into());
    assert_eq!(a.settle(), Action::Vote);
}
