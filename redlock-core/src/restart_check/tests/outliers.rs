//! Clocks that do not agree with those of the other nodes.

use super::*;

/// Nodes of one set, each `ahead` ms ahead, that were looked at twice.
fn outlier<const N: usize>(ahead: [u64; N]) -> [Option<i64>; N] {
    let peers = peers(RestartCheck::Standard, N);
    let run_ids = ["run1", "run2", "run3", "run4"];
    let mut place = 0;
    let mut nodes = ahead.map(|ahead| {
        let mut node = Bench::new(&peers, run_ids[place], run_ids[place]);
        place += 1;
        node.time += ms(ahead);
        node
    });
    for node in &mut nodes {
        node.check();
    }
    nodes.map(|mut node| node.check().outlier_ms)
}

#[test]
fn a_node_is_apart_that_is_further_than_a_second_from_the_median() {
    assert_eq!(outlier([0, 0, 86_400_000]), [None, None, Some(86_400_000)]);
    assert_eq!(outlier([5_000, 5_000, 0]), [None, None, Some(-5_000)]);
    assert_eq!(outlier([0, 1_000, 2_000]), [None; 3]);
    assert_eq!(
        outlier([0, 1_001, 2_003]),
        [Some(-1_001), None, Some(1_002)]
    );
    assert_eq!(outlier([0, 9_000, 9_000, 9_900])[0], Some(-9_000));
}

#[test]
fn of_two_that_disagree_both_are_and_one_alone_is_not() {
    assert_eq!(outlier([0, 2_000]), [None; 2]);
    assert_eq!(outlier([0, 8_000]), [Some(-4_000), Some(4_000)]);
    assert_eq!(
        outlier([0, 0, 8_000, 8_000]).map(|it| it.is_some()),
        [true; 4]
    );
    assert_eq!(outlier([8_000]), [None]);
}

#[test]
fn less_than_a_majority_says_nothing_of_the_time() {
    let peers = peers(RestartCheck::Standard, 3);
    let [mut a, mut b] = ["a", "b"].map(|name| Bench::new(&peers, name, name));
    a.time += ms(86_400_000);
    assert_eq!(a.check().outlier_ms, None);
    b.check();
    assert!(a.check().outlier_ms.is_some());
    b.node_check.unreachable();
    assert_eq!(a.check().outlier_ms, None);
}
