//! Nodes of the user's own, which the configuration makes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redlock_runtime::error::{Problem, ProblemKind};
use redlock_runtime::node::{EpochListener, Node, NodeStatus, Submission, Watch};
use redlock_runtime::registry::MemoryNode;
use redlock_runtime::{Config, LockError, Redlock, lock, redlock};

use crate::runtime::fixture::registry;

type Calls = Arc<AtomicUsize>;

/// A node that counts its calls, and hands them to another one.
struct Counting(MemoryNode, Calls);

impl Node for Counting {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn submit(&self, submission: Submission) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.submit(submission);
    }

    fn status(&self) -> NodeStatus {
        self.0.status()
    }

    fn watch(&self, watch: Watch) {
        self.0.watch(watch);
    }

    fn drained(&self) -> bool {
        self.0.drained()
    }

    fn epoch(&self) -> u32 {
        self.0.epoch()
    }

    fn on_new_epoch(&self, listener: EpochListener) {
        self.0.on_new_epoch(listener);
    }
}

/// Adds a pool whose node has a name of its own.
fn with_node_called(config: Config, pool: &str, name: &'static str, calls: &Calls) -> Config {
    let calls = Arc::clone(calls);
    config.pool_node(pool, move |environment| {
        let node = MemoryNode::new(name, environment.clock);
        Ok(Arc::new(Counting(node, Arc::clone(&calls))))
    })
}

fn with_node(config: Config, name: &'static str, calls: &Calls) -> Config {
    with_node_called(config, name, name, calls)
}

/// Returns the problems of a start that is refused.
async fn problems(config: Config) -> Vec<Problem> {
    let refused = Redlock::start(config).await.unwrap_err();
    refused.problems().to_vec()
}

#[redlock(resource = "own:{id}", retry_count = 0)]
async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[tokio::test]
async fn an_attribute_locks_on_three_own_nodes() {
    let calls: [Calls; 3] = Default::default();
    let pools = ["a", "b", "c"].into_iter().zip(&calls);
    let config = pools.fold(Config::new(), |config, (name, calls)| {
        with_node(config, name, calls)
    });
    let redlock = Redlock::start(config).await.unwrap();
    let registry = registry(&redlock);
    let held = registry.clone().scope(lock("own:42").acquire());
    let held = held.await.unwrap();
    let refused = registry.clone().scope(charge(42)).await.unwrap_err();
    assert!(refused.is_contended(), "{refused}");
    held.release().await;
    assert_eq!(registry.clone().scope(charge(42)).await.unwrap(), 42);
    let calls = calls.map(|it| it.load(Ordering::Relaxed));
    assert!(calls.iter().all(|it| *it > 0), "{calls:?}");
    assert!(registry.health().iter().all(|pool| pool.is_default));
}

#[tokio::test]
async fn an_own_node_votes_next_to_two_in_memory() {
    let config = Config::new()
        .pool("a", "memory://a")
        .pool("b", "memory://b");
    let redlock = Redlock::start(with_node(config, "own", &Calls::default())).await;
    let redlock = redlock.unwrap();
    let registry = registry(&redlock);
    let charged = || registry.clone().scope(charge(43));
    let cut = |pool| registry.memory_node(pool).expect("a pool in memory").cut();
    cut("a");
    charged().await.unwrap();
    cut("b");
    assert!(charged().await.unwrap_err().is_unavailable());
}

#[tokio::test]
async fn a_node_that_cannot_be_made_fails_the_start() {
    let config = Config::new()
        .pool_node("a", |_| {
            Err("no answer of etcd://locker:s3cret@host within 2 s".into())
        })
        .pool_node("b", |_| Err("no\nfile".into()));
    let problems = problems(config).await;
    assert_eq!(
        problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "the node of the pool `a` cannot be made: no answer of (a URL, which is not shown) within 2 s",
            "the node of the pool `b` cannot be made: no file",
        ]
    );
    assert_eq!(problems[1].kind, ProblemKind::NodeNotMade);
    assert_eq!(problems[1].pools, ["b"]);
}

#[tokio::test]
async fn a_node_with_the_name_of_another_pool_is_refused() {
    let config = with_node_called(Config::new(), "a", "b", &Calls::default());
    let expected =
        "the node of the pool `a` says that its name is `b`; a node has the name of its pool";
    let problems = problems(config).await;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].to_string(), expected);
    assert_eq!(problems[0].kind, ProblemKind::InvalidValue);
}

#[tokio::test]
async fn the_later_of_two_own_nodes_of_one_pool_counts() {
    let former = Config::new().pool_node("a", |_| panic!("nobody needs this node"));
    let redlock = Redlock::start(with_node(former, "a", &Calls::default())).await;
    let redlock = redlock.unwrap();
    assert_eq!(redlock.registry().votes().configured, 1);
}

#[tokio::test]
async fn a_refused_configuration_makes_no_node() {
    let config = Config::new()
        .pool_node("a", |_| panic!("the configuration is not valid"))
        .password_file("a", "password");
    let problems = problems(config).await;
    assert_eq!(problems.len(), 1, "{problems:?}");
    let text = problems[0].to_string();
    assert!(text.contains("`password_file` are for the URL of a server"));
}

#[tokio::test]
async fn a_panic_of_make_unwinds_from_the_start() {
    let config = Config::new().pool_node("a", |_| panic!("the user's own"));
    let started = tokio::spawn(Redlock::start(config)).await;
    assert!(started.unwrap_err().is_panic());
}
