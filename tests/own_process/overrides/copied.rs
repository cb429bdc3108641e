//! Functions that another attribute copies: each copy registers a `static` of its own.

use axum::debug_handler;
use axum::extract::Path;
use redlock_runtime::config::SiteConfig;
use redlock_runtime::registry::Layer;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, LockError, current_lease, redlock};

#[debug_handler]
#[redlock(resource = "copied:{id}")]
async fn handler_above(Path(id): Path<u64>) -> Result<String, LockError> {
    Ok(is_fenced())
}

#[redlock(resource = "copied:{id}", pools = ["a"])]
#[debug_handler]
async fn handler_below(Path(id): Path<u64>) -> Result<String, LockError> {
    Ok(is_fenced())
}

struct Tea;
struct Coffee;

/// Copies a method, as `#[duplicate_item]` does.
macro_rules! duplicate {
    ($one:ident, $other:ident => $($method:tt)+) => {
        impl $one { $($method)+ }
        impl $other { $($method)+ }
    };
}

duplicate! { Tea, Coffee =>
    #[redlock(resource = "copied", name = "tea or coffee")]
    async fn brew(&self) -> Result<String, LockError> {
        Ok(is_fenced())
    }
}

fn is_fenced() -> String {
    let lease = current_lease().expect("the body runs under its lock");
    lease.fenced().is_some().to_string()
}

const NAMES: [&str; 3] = [
    "overrides::copied::handler_above",
    "overrides::copied::handler_below",
    "tea or coffee",
];

#[tokio::test]
async fn an_override_reaches_each_copy_of_a_function() {
    let site = || SiteConfig::new().fencing(true);
    let names = NAMES.iter();
    let config = names.fold(Config::new(), |all, name| all.site(*name, site()));
    let locks = TestLocks::with_config(config);
    for answer in [
        handler_above(Path(7)).await,
        handler_below(Path(7)).await,
        Tea.brew().await,
        Coffee.brew().await,
    ] {
        assert_eq!(answer.unwrap(), "true");
    }
    for name in NAMES {
        let reports = locks.registry().sites();
        let listed = reports.iter().filter(|it| it.site.name() == name);
        let layers: Vec<_> = listed.map(|it| it.parameters["fencing"].layer).collect();
        assert_eq!(layers, [Layer::Override], "{name}");
    }
}
