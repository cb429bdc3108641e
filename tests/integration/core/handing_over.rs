//! A lock that one holder's acquisition takes over from another's, at one real server.

use std::time::Duration;

use redlock_core::{Answer, Node, NodeSet, Operation, OwnerToken, Resource, Want, ask};
use redlock_tests::{Nodes, RedisNode};

use crate::core::fixture::{IO, start};

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_secs(60);
/// No time that a test takes, and none that two ttls are apart.
const MARGIN: Duration = Duration::from_secs(30);

/// A lock with fencing counters on one node, and the tokens of three attempts.
struct Scene {
    nodes: Nodes,
    set: NodeSet,
    names: &'static [&'static str],
    tokens: [OwnerToken; 3],
}

impl Scene {
    async fn start(names: &'static [&'static str]) -> Self {
        let (nodes, set) = start(1).await;
        let entropy = IO.environment().entropy;
        Self {
            nodes,
            set,
            names,
            tokens: [(); 3].map(|()| OwnerToken::draw(&*entropy)),
        }
    }

    fn node(&self) -> &RedisNode {
        &self.nodes[0]
    }

    fn operation(&self, attempt: usize, want: Want) -> Operation {
        let keys = Resource::all(self.names.iter().copied());
        Operation::new(keys, self.tokens[attempt].clone(), want)
    }

    fn counted(&self, attempt: usize, want: Want) -> Operation {
        let counters = self.names.iter().map(|name| format!("count:{name}"));
        let counters = Resource::all(counters);
        self.operation(attempt, want).with_counters(Some(counters))
    }

    async fn ask(&self, operation: Operation) -> Answer {
        ask(&*self.set[0] as &dyn Node, operation).await
    }

    /// The acquisition of one attempt, which takes over from another.
    fn swap(&self, attempt: usize, from: usize, ttl: Duration) -> Operation {
        let hint = 0;
        let predecessor = Some(self.tokens[from].clone());
        self.operation(attempt, Want::Acquire { ttl, hint })
            .with_predecessor(predecessor)
    }

    fn is_of(&self, name: &str, attempt: usize) -> bool {
        self.node().get(name).as_deref() == Some(self.tokens[attempt].as_bytes())
    }

    fn left(&self, name: &str) -> Duration {
        let left = self.node().pttl(name).left();
        left.expect("a key that expires")
    }
}

fn acquire(ttl: Duration) -> Want {
    let hint = 0;
    Want::Acquire { ttl, hint }
}

fn counter(answer: &Answer) -> u64 {
    match answer {
        Answer::Granted {
            counter: Some(counter),
            ..
        } => *counter,
        other => panic!("not granted with a counter: {other:?}"),
    }
}

#[tokio::test]
async fn a_successor_gets_the_key_with_a_ttl_of_its_own() {
    let scene = Scene::start(&["r"]).await;
    // As long as or longer than the one before, and shorter than it.
    for (before, after) in [(SHORT, LONG), (LONG, SHORT)] {
        let granted = scene.ask(scene.operation(0, acquire(before))).await;
        assert_eq!(granted, Answer::GRANTED);
        let granted = scene.ask(scene.swap(1, 0, after)).await;
        assert_eq!(granted, Answer::GRANTED);
        assert!(scene.is_of("r", 1));
        assert!(scene.left("r").abs_diff(after) < MARGIN);
        scene.node().flushall();
    }
}

#[tokio::test]
async fn a_fenced_successor_gets_a_higher_number() {
    let scene = Scene::start(&["a", "b"]).await;
    let first = scene.ask(scene.counted(0, acquire(SHORT))).await;
    let hint = 0;
    let want = Want::Acquire { ttl: LONG, hint };
    let predecessor = Some(scene.tokens[0].clone());
    let swap = scene.counted(1, want).with_predecessor(predecessor);
    let second = scene.ask(swap).await;
    assert!(counter(&second) > counter(&first));
    for name in scene.names {
        assert!(scene.is_of(name, 1));
        assert!(scene.left(name).abs_diff(LONG) < MARGIN);
        let stands = scene.node().get(format!("count:{name}")).unwrap();
        assert_eq!(stands, counter(&second).to_string().as_bytes());
    }
}

#[tokio::test]
async fn a_successor_that_another_is_in_the_way_of_changes_nothing() {
    let scene = Scene::start(&["a", "b"]).await;
    let foreign = &scene.tokens[2];
    scene.ask(scene.operation(0, acquire(SHORT))).await;
    // In either place: what is looked at first must not have been set by then.
    for (ours, theirs) in [("a", "b"), ("b", "a")] {
        scene
            .node()
            .set(ours, scene.tokens[0].as_bytes(), Some(SHORT));
        scene.node().set(theirs, foreign.as_bytes(), Some(SHORT));
        let predecessor = Some(scene.tokens[0].clone());
        let fenced = scene.counted(1, acquire(LONG));
        for swap in [scene.swap(1, 0, LONG), fenced.with_predecessor(predecessor)] {
            let answer = scene.ask(swap).await;
            let Answer::Held(holding) = answer else {
                panic!("{answer:?}");
            };
            let owner = format!("/{}", std::process::id());
            assert!(holding.owner().is_some_and(|named| named.ends_with(&owner)));
            assert!(scene.is_of(ours, 0) && scene.is_of(theirs, 2));
            assert!(scene.left(ours) <= SHORT && scene.left(theirs) <= SHORT);
            assert_eq!(scene.node().keys().len(), 2, "no counter either");
        }
    }
}

#[tokio::test]
async fn where_nothing_gives_way_a_successor_acquires_like_anybody() {
    let scene = Scene::start(&["a", "b"]).await;
    assert_eq!(scene.ask(scene.swap(1, 0, SHORT)).await, Answer::GRANTED);
    assert!(scene.is_of("a", 1) && scene.is_of("b", 1));
    let answer = scene.ask(scene.swap(2, 0, SHORT)).await;
    assert!(matches!(answer, Answer::Held(_)), "{answer:?}");
    // One key is gone, the other one gives way.
    scene.node().del("b");
    assert_eq!(scene.ask(scene.swap(2, 1, LONG)).await, Answer::GRANTED);
    assert!(scene.is_of("a", 2) && scene.is_of("b", 2));
}

#[tokio::test]
async fn what_comes_late_from_the_one_before_does_nothing_to_its_successor() {
    let scene = Scene::start(&["a", "b"]).await;
    let first = counter(&scene.ask(scene.counted(0, acquire(LONG))).await);
    let predecessor = Some(scene.tokens[0].clone());
    let swap = scene.counted(1, acquire(SHORT));
    let second = counter(&scene.ask(swap.with_predecessor(predecessor)).await);
    assert!(second > first);
    let (ttl, counter) = (LONG, second + 1000);
    for late in [
        scene.counted(0, acquire(LONG)),
        scene.counted(0, Want::Confirm { counter, ttl }),
        scene.operation(0, Want::Restore { ttl }),
        scene.operation(0, Want::Extend { ttl }),
        scene.operation(0, Want::Shorten { ttl: MARGIN / 2 }),
        scene.operation(0, Want::Release { ttl }),
    ] {
        let want = late.want();
        let answer = scene.ask(late).await;
        assert!(matches!(answer, Answer::Held(_)), "{want:?}: {answer:?}");
        for name in scene.names {
            assert!(scene.is_of(name, 1), "{want:?}");
            assert!(scene.left(name).abs_diff(SHORT) < MARGIN, "{want:?}");
            let stands = scene.node().get(format!("count:{name}")).unwrap();
            assert_eq!(stands, second.to_string().as_bytes(), "{want:?}");
        }
    }
}

#[tokio::test]
async fn a_successor_is_sent_again_to_a_server_that_forgot_the_script() {
    let scene = Scene::start(&["r"]).await;
    scene.ask(scene.operation(0, acquire(SHORT))).await;
    scene.node().script_flush();
    assert_eq!(scene.ask(scene.swap(1, 0, LONG)).await, Answer::GRANTED);
    assert!(scene.is_of("r", 1));
}
