//! A program whose functions do not fit its configuration. In a binary of its own: `init` checks
//! every annotated function that is linked in.

use redlock_runtime::registry::sites;
use redlock_runtime::{Config, LockError, init, redlock};

#[redlock(resource = "order:{id}", pools = ["a", "typo"])]
async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

struct Shop;

impl Shop {
    #[redlock(resource = "report", ttl = "10m")]
    async fn report(&self) -> Result<(), LockError> {
        Ok(())
    }
}

struct Shelf;
struct Cellar;

macro_rules! stocks {
    ($($ty:ty),+) => { $(
        impl $ty {
            #[redlock(resource = "stock", pools = ["nowhere"])]
            async fn stock(&self) -> Result<(), LockError> {
                Ok(())
            }
        }
    )+ };
}

stocks!(Shelf, Cellar);

#[tokio::test]
async fn init_names_the_pool_the_function_and_its_place() {
    let config = Config::new()
        .pool("a", "memory://a")
        .pool("b", "memory://b");
    let error = init(config).await.map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert_eq!(error.problems().len(), 4, "{text}");
    for hint in [
        "`unknown_pool::charge` (tests/own_process/unknown_pool.rs:7:1) names the pool `typo`",
        "configured: a, b",
        "`unknown_pool::Shelf::stock` (tests/own_process/unknown_pool.rs:35:1) names the pool `nowhere`",
        "`unknown_pool::Cellar::stock` (tests/own_process/unknown_pool.rs:35:1) names the pool `nowhere`",
        "`unknown_pool::Shop::report` (tests/own_process/unknown_pool.rs:15:5): the ttl of 600 s is above `max_ttl`",
    ] {
        assert!(text.contains(hint), "{hint}\nis not in\n{text}");
    }
    // Nothing was started by it.
    assert!(charge(1).await.unwrap_err().is_not_initialized());
    assert!(Shop.report().await.unwrap_err().is_not_initialized());
    assert!(Shelf.stock().await.is_err() && Cellar.stock().await.is_err());
    assert_eq!(sites().len(), 4);
}
