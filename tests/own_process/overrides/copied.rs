//! Functions that another attribute copies: each copy registers a `static` of its own.

use axum::extract::{Path, Request};
use axum::middleware::{Next, from_fn};
use axum::routing::get;
use axum::{Router, debug_handler, debug_middleware};
use redlock_runtime::config::SiteConfig;
use redlock_runtime::registry::{Layer, Registry};
use redlock_runtime::{Config, LockError, Redlock, current, redlock};
use tower::ServiceExt as _;

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

#[debug_middleware]
#[redlock(resource = "copied")]
async fn middleware_above(_: Request, _: Next) -> Result<String, LockError> {
    Ok(is_fenced())
}

#[redlock(resource = "copied")]
#[debug_middleware]
async fn middleware_below(_: Request, _: Next) -> Result<String, LockError> {
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
    let lease = current().expect("the body runs under its lock");
    lease.fencing_token().is_some().to_string()
}

/// Returns the bodies of all copies' calls, through the routes of axum.
async fn answers(registry: &Registry) -> Vec<String> {
    let routes = [
        get(handler_above),
        get(handler_below),
        get(|| async {}).layer(from_fn(middleware_above)),
        get(|| async {}).layer(from_fn(middleware_below)),
        get(async || Tea.brew().await),
        get(async || Coffee.brew().await),
    ];
    let mut answers = Vec::new();
    for route in routes {
        let app = Router::new().route("/{id}", route);
        let request = Request::get("/7").body(axum::body::Body::empty()).unwrap();
        let response = registry.clone().scope(app.oneshot(request)).await.unwrap();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
        answers.push(String::from_utf8(body.unwrap().to_vec()).unwrap());
    }
    answers
}

const NAMES: [&str; 5] = [
    "overrides::copied::handler_above",
    "overrides::copied::handler_below",
    "overrides::copied::middleware_above",
    "overrides::copied::middleware_below",
    "tea or coffee",
];

#[tokio::test]
async fn an_override_reaches_each_copy_of_a_function() {
    let config = Config::new().pool("a", "memory://a");
    let site = || SiteConfig::new().fencing(true);
    let config = NAMES
        .iter()
        .fold(config, |all, name| all.site(*name, site()));
    let redlock = Redlock::start(config).await.unwrap();
    let registry = redlock.registry();
    assert_eq!(answers(registry).await, ["true"; 6]);
    for name in NAMES {
        let reports = registry.sites();
        let listed = reports.iter().filter(|it| it.site.site_name() == name);
        let layers: Vec<_> = listed.map(|it| it.parameters["fencing"].layer).collect();
        assert_eq!(layers, [Layer::Override], "{name}");
    }
    redlock.shutdown().await;
}
