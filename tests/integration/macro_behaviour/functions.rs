//! Functions of every kind run locked, and give back what they would give back without a lock.

use std::fmt::{Debug, Display};
use std::sync::Arc;

use async_trait::async_trait;
use redlock_runtime::{LockError, redlock};

use crate::macro_behaviour::fixture::{Nodes, with_nodes};

trait Job {
    fn id(&self) -> u64;

    /// A default method.
    #[redlock(resource = "default:{id}", guard = lease)]
    async fn provided(&self, id: u64, nodes: &Nodes) -> Result<(Vec<String>, u64), LockError> {
        assert!(lease.resource().to_string().contains("default:"));
        Ok((nodes.locked(), self.id() + id))
    }

    async fn overridden(&self, nodes: &Nodes) -> Result<Vec<String>, LockError> {
        Ok(nodes.locked())
    }
}

struct Plain(u64);
struct Other(u64);

impl Job for Plain {
    fn id(&self) -> u64 {
        self.0
    }
}

impl Job for Other {
    fn id(&self) -> u64 {
        self.0
    }

    #[redlock(resource = "overridden:{self.0}")]
    async fn overridden(&self, nodes: &Nodes) -> Result<Vec<String>, LockError> {
        Ok(nodes.locked())
    }
}

async fn runs<J: Job>(job: &J, nodes: &Nodes) -> (Vec<String>, u64) {
    job.provided(1, nodes).await.unwrap()
}

#[tokio::test]
async fn default_methods_are_locked_for_every_implementation() {
    with_nodes(|nodes, _| async move {
        assert_eq!(runs(&Plain(2), &nodes).await, (vec!["default:1".into()], 3));
        assert_eq!(runs(&Other(3), &nodes).await, (vec!["default:1".into()], 4));
        assert!(Plain(2).overridden(&nodes).await.unwrap().is_empty());
        let keys = Other(3).overridden(&nodes).await.unwrap();
        assert_eq!(keys, ["overridden:3"]);
        assert!(nodes.locked().is_empty());
    })
    .await;
}

#[redlock(resource = "{key}:{N}")]
async fn generic<K: Display, V: Debug, const N: usize>(
    key: K,
    values: [V; N],
    nodes: &Nodes,
) -> Result<(Vec<String>, [V; N]), LockError> {
    Ok((nodes.locked(), values))
}

#[tokio::test]
async fn each_instance_of_a_generic_function_names_its_own_resource() {
    with_nodes(|nodes, _| async move {
        let (keys, values) = generic("text", [1, 2], &nodes).await.unwrap();
        assert_eq!((keys, values), (vec!["text:2".to_owned()], [1, 2]));
        let (keys, values) = generic(7, ["a"; 0], &nodes).await.unwrap();
        assert_eq!((keys, values.len()), (vec!["7:0".to_owned()], 0));
        assert!(nodes.locked().is_empty());
    })
    .await;
}

struct Store {
    items: Vec<String>,
}

impl Store {
    #[redlock(resource = "store")]
    async fn first<'a>(&'a self, or: &'a str) -> Result<&'a str, LockError> {
        Ok(self.items.first().map_or(or, String::as_str))
    }

    #[redlock(resource = "store")]
    async fn last(&mut self) -> Result<Option<&mut String>, LockError> {
        self.items.push("pushed".to_owned());
        Ok(self.items.last_mut())
    }

    #[redlock(resource = "store")]
    async fn drain(&mut self) -> Result<impl Iterator<Item = String> + '_, LockError> {
        Ok(self.items.drain(..))
    }

    #[redlock(resource = "store")]
    async fn shared(self: Arc<Self>) -> Result<Arc<dyn Debug + Send + Sync>, LockError> {
        Ok(Arc::new(self.items.clone()))
    }
}

#[tokio::test]
async fn what_is_returned_may_borrow_from_the_arguments() {
    with_nodes(|nodes, _| async move {
        let mut store = Store { items: Vec::new() };
        let text = String::from("none");
        assert_eq!(store.first(&text).await.unwrap(), "none");
        let last = store.last().await.unwrap().unwrap();
        assert!(nodes.locked().is_empty());
        last.push_str(" and changed");
        assert_eq!(store.first(&text).await.unwrap(), "pushed and changed");
        let drained: Vec<String> = store.drain().await.unwrap().collect();
        assert_eq!(drained, ["pushed and changed"]);
        let shared = Arc::new(store).shared().await.unwrap();
        assert_eq!(format!("{shared:?}"), "[]");
    })
    .await;
}

#[async_trait]
trait Boxed: Send + Sync {
    async fn by_ref(&self, id: u64, nodes: &Nodes) -> Result<Vec<String>, LockError>;

    #[redlock(resource = "boxed:{key}", guard = lease, name = "boxed")]
    async fn provided(&mut self, key: String, nodes: &Nodes) -> Result<Vec<String>, LockError> {
        assert!(lease.validity() > std::time::Duration::ZERO);
        drop(key);
        Ok(nodes.locked())
    }
}

#[async_trait]
impl Boxed for Plain {
    #[redlock(resource = "plain:{self.0}:{id}", retry_count = 0)]
    async fn by_ref(&self, id: u64, nodes: &Nodes) -> Result<Vec<String>, LockError> {
        tokio::task::yield_now().await;
        if id == 0 {
            return Ok(Vec::new());
        }
        Ok(nodes.locked())
    }
}

#[tokio::test]
async fn methods_under_async_trait_are_locked() {
    with_nodes(|nodes, _| async move {
        let mut job: Box<dyn Boxed> = Box::new(Plain(5));
        assert_eq!(job.by_ref(1, &nodes).await.unwrap(), ["plain:5:1"]);
        assert!(job.by_ref(0, &nodes).await.unwrap().is_empty());
        let keys = job.provided("key".into(), &nodes).await.unwrap();
        assert_eq!(keys, ["boxed:key"]);
        assert!(nodes.locked().is_empty());

        let held = redlock_runtime::lock("plain:5:2").acquire().await.unwrap();
        let error = job.by_ref(2, &nodes).await.unwrap_err();
        assert!(error.is_contended(), "{error}");
        held.release().await;
        nodes.free().await;
    })
    .await;
}
