//! Sets that no client used before, and sets of which an operator says that no lock is held.

use super::*;

/// Three nodes of one client.
fn three(restart_check: RestartCheck) -> [Bench; 3] {
    let peers = peers(restart_check, 3);
    [("a", "run-a"), ("b", "run-b"), ("c", "run-c")]
        .map(|(name, run_id)| Bench::new(&peers, name, run_id))
}

/// What another client finds on the same nodes at the same time.
fn beside(nodes: &[Bench; 3]) -> [Bench; 3] {
    let mut others = three(RestartCheck::Standard);
    see(&mut others, nodes);
    others
}

/// `others` find the nodes as they are.
fn see(others: &mut [Bench; 3], nodes: &[Bench; 3]) {
    for (other, node) in others.iter_mut().zip(nodes) {
        other.see(node);
    }
}

fn pass(nodes: &mut [Bench; 3], span: Duration) {
    for node in nodes {
        node.pass(span);
    }
}

fn is_unsettled(action: &Action) -> bool {
    matches!(
        action,
        Action::Hold {
            is_settled: false,
            ..
        }
    )
}

/// What is to be written is.
fn write(bench: &mut Bench) {
    let Action::Write { expected, new, .. } = bench.check().action else {
        panic!("nothing is to be written");
    };
    assert_eq!(expected, bench.marker);
    bench.marker = Some(new);
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
    assert!(is_unsettled(&a.settle()), "it is all that is reached");
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
    let action = a.check().action;
    assert!(
        reason(&action).contains("until a majority of the pools is reachable"),
        "{action:?}"
    );
    assert!(!is_unsettled(&action));
    // Nothing is known of the node that comes up next.
    assert_eq!(settle_all([&mut b, &mut a]), [Action::Vote, Action::Vote]);
    // The last one may have been opened, have granted and have forgotten, all unseen.
    c.pass(ms(10));
    assert!(!is_unsettled(&c.settle()));
    assert_eq!((c.left(), c.cause()), (QUARANTINE, Cause::Late));
}

/// However long the process that began stands still, and wherever.
#[test]
fn a_process_that_stands_still_while_it_opens_a_set_closes_no_node() {
    for marked in 0..=3 {
        for opened in 0..=marked {
            for comes_another in [false, true] {
                let mut nodes = three(RestartCheck::Standard);
                for node in &mut nodes {
                    node.check();
                }
                for node in nodes.iter_mut().take(marked) {
                    write(node);
                }
                if marked < 3 && opened > 0 {
                    // It opens none before all are marked.
                    continue;
                }
                for node in &mut nodes {
                    node.check();
                }
                for node in nodes.iter_mut().take(opened) {
                    write(node);
                }
                pass(&mut nodes, ms(60_000));
                if comes_another {
                    let mut others = beside(&nodes);
                    let [a, b, c] = &mut others;
                    let actions = settle_all([a, b, c]);
                    assert_eq!(actions, [const { Action::Vote }; 3], "{marked} {opened}");
                    see(&mut nodes, &others);
                }
                let [a, b, c] = &mut nodes;
                let actions = settle_all([a, b, c]);
                assert_eq!(actions, [const { Action::Vote }; 3], "{marked} {opened}");
                for node in &nodes {
                    assert_eq!(node.cause(), Cause::New);
                }
            }
        }
    }
}

#[test]
fn a_set_that_is_in_use_is_new_to_nobody_who_slept() {
    let mut nodes = three(RestartCheck::Standard);
    for node in &mut nodes {
        node.check();
    }
    for node in &mut nodes {
        write(node);
    }
    nodes[0].check();
    nodes[2].check();
    let mut others = beside(&nodes);
    let [a, b, c] = &mut others;
    settle_all([a, b, c]);
    pass(&mut others, ms(60_000));
    others[1].marker = None;
    see(&mut nodes, &others);
    // What it knows of the others is from before it slept.
    let action = nodes[1].settle();
    assert!(reason(&action).contains("until a majority"), "{action:?}");
    let [a, b, c] = &mut nodes;
    let [a, b, c] = settle_all([a, b, c]);
    assert_eq!((a, c), (Action::Vote, Action::Vote));
    assert!(reason(&b).contains("others of its set are not"), "{b:?}");
    assert_eq!(nodes[1].left(), QUARANTINE);
}

#[test]
fn a_node_that_is_marked_as_it_is_taken_for_restarted_is_opened() {
    let peers = peers(RestartCheck::Standard, 2);
    let [mut a, mut b] = ["a", "b"].map(|name| Bench::new(&peers, name, "run1"));
    b.run_id = Some("run2");
    a.marker = marker("run1", a.time);
    assert_eq!(a.settle(), Action::Vote);
    assert!(matches!(b.check().action, Action::Write { .. }));
    b.marker = marker("run2", b.time);
    assert_eq!(b.settle(), Action::Vote);
}

/// Three nodes that vote, and come back empty.
fn restarted() -> [Bench; 3] {
    let mut nodes = three(RestartCheck::Standard);
    let [a, b, c] = &mut nodes;
    settle_all([a, b, c]);
    for (node, run_id) in nodes.iter_mut().zip(["run-d", "run-e", "run-f"]) {
        node.node_check.unreachable();
        (node.run_id, node.marker) = (Some(run_id), None);
    }
    pass(&mut nodes, ms(1_000));
    nodes
}

#[test]
fn a_set_that_restarted_empty_waits_for_who_saw_it_in_use() {
    let mut nodes = restarted();
    for node in &mut nodes {
        let action = node.settle();
        assert!(
            reason(&action).starts_with("it restarted empty, so"),
            "{action:?}"
        );
        assert_eq!(node.left(), QUARANTINE);
    }
    // A client that comes meanwhile waits too, and says why and until when.
    pass(&mut nodes, ms(2_000));
    for mut node in beside(&nodes) {
        let action = node.settle();
        let text = reason(&action);
        assert!(text.contains("it restarted empty, so"), "{text}");
        assert!(
            text.ends_with("locks; it votes again within 8.7 s"),
            "{text}"
        );
    }
}

/// The other did not see the set in use, and was first.
#[test]
fn who_saw_a_set_in_use_waits_although_another_took_it_for_new() {
    for (is_open, is_flushed) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut nodes = restarted();
        if is_flushed {
            nodes = three(RestartCheck::Standard);
            let [a, b, c] = &mut nodes;
            settle_all([a, b, c]);
            for node in &mut nodes {
                node.marker = None;
            }
            pass(&mut nodes, ms(1_000));
        }
        let mut others = beside(&nodes);
        if is_open {
            let [a, b, c] = &mut others;
            settle_all([a, b, c]);
        } else {
            for other in &mut others {
                other.check();
            }
            for other in &mut others {
                write(other);
            }
        }
        see(&mut nodes, &others);
        for node in &mut nodes {
            let action = node.settle();
            let how = if is_flushed {
                "it was flushed"
            } else {
                "it restarted empty"
            };
            assert!(reason(&action).starts_with(how), "{action:?}");
            // Nobody has voted on what is only being opened: all wait then.
            assert_eq!(node.left() == QUARANTINE, !is_open);
        }
    }
}

#[test]
fn an_operators_word_opens_a_set_for_everybody() {
    let mut nodes = restarted();
    for node in &mut nodes {
        node.settle();
    }
    let mut others = beside(&nodes);
    for node in &mut others {
        assert!(matches!(node.settle(), Action::Hold { .. }));
    }
    pass(&mut others, ms(1_000));
    for node in &mut others {
        node.marker = Some(IDLE.to_vec());
        assert_eq!(node.settle(), Action::Vote);
        assert_eq!((node.left(), node.cause()), (Duration::ZERO, Cause::Idle));
    }
    // A client that did not see the word itself sees that it was given.
    see(&mut nodes, &others);
    for node in &mut nodes {
        assert_eq!(node.settle(), Action::Vote);
    }
}

#[test]
fn an_operators_word_opens_a_blank_set_under_a_strict_restart_check() {
    let mut nodes = three(RestartCheck::Strict);
    for node in &mut nodes {
        node.marker = Some(IDLE.to_vec());
        assert_eq!(node.settle(), Action::Vote);
    }
}

#[test]
fn an_operators_word_says_nothing_of_what_comes_after_it() {
    let mut a = Bench::voting();
    a.marker = Some(IDLE.to_vec());
    let verdict = a.check();
    assert!(
        verdict.is_new_epoch,
        "no lease rests on what is opened anew"
    );
    assert_eq!(a.settle(), Action::Vote);
    let word = a.marker.clone();
    a.marker = None;
    assert!(matches!(a.settle(), Action::Hold { .. }));
    // A client that has not looked since.
    a.marker = word;
    a.pass(ms(1_000));
    a.node_check.unreachable();
    a.run_id = Some("run2");
    assert!(matches!(a.settle(), Action::Hold { .. }));
    assert_eq!(a.read().run_id, "run2");
}

#[test]
fn an_operators_word_counts_although_this_host_stood_still() {
    let mut nodes = restarted();
    for node in &mut nodes {
        node.settle();
    }
    pass(&mut nodes, ms(1_000));
    for node in &mut nodes {
        node.marker = Some(IDLE.to_vec());
        node.time += ms(7_000);
    }
    let [a, b, c] = &mut nodes;
    assert_eq!(settle_all([a, b, c]), [const { Action::Vote }; 3]);
}

#[test]
fn an_operators_word_does_not_cover_a_step_that_is_seen_along_with_it() {
    let mut a = Bench::voting();
    a.marker = Some(IDLE.to_vec());
    a.time += ms(7_000);
    let action = a.settle();
    assert!(reason(&action).contains("7000 ms ahead"), "{action:?}");
    assert!(matches!(a.settle(), Action::Hold { .. }));
    // Another client writes it down: it is the same word.
    let since = a.time.as_millis();
    a.marker = Some(format!("1 run1 {since} idle 10000 {since}").into_bytes());
    assert!(matches!(a.settle(), Action::Hold { .. }));
    // Given once more, it is about the step too.
    a.marker = Some(IDLE.to_vec());
    assert_eq!(a.settle(), Action::Vote);
}

#[test]
fn a_set_whose_clocks_are_all_set_back_by_a_day_votes_on() {
    let mut nodes = three(RestartCheck::Standard);
    let [a, b, c] = &mut nodes;
    a.check();
    b.check();
    settle_all([c, a, b]);
    let mut others = beside(&nodes);
    for node in &mut nodes {
        node.time -= ms(86_400_000);
    }
    let [a, b, c] = &mut nodes;
    settle_all([a, b, c]);
    for action in settle_all([c, a, b]) {
        assert_eq!(
            action,
            Action::Vote,
            "as though this host's clock had stepped"
        );
    }
    see(&mut others, &nodes);
    let [a, b, c] = &mut others;
    for action in settle_all([c, a, b]) {
        assert_eq!(action, Action::Vote, "who came later sees no step");
    }
}

#[test]
fn a_quarantine_whose_end_lies_behind_a_clock_that_was_set_back_begins_anew() {
    let mut bench = Bench::voting();
    bench.run_id = Some("run2");
    assert!(matches!(bench.settle(), Action::Hold { .. }));
    let peers = peers(RestartCheck::Standard, 1);
    let mut later = Bench::new(&peers, "a", "run2");
    later.see(&bench);
    later.time -= ms(86_000_000);
    assert!(matches!(later.settle(), Action::Hold { .. }));
    assert_eq!(later.cause(), Cause::Stepped { by_ms: -86_000_000 });
    later.pass(QUARANTINE);
    assert_eq!(later.settle(), Action::Vote);
}
