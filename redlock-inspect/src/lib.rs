//! Shows held leases and the health of nodes over HTTP.
//!
//! The readers are people on call, readiness probes and scripts.
//!
//! | path | answers |
//! |---|---|
//! | `/` | one page with everything. With `?live`, the page reloads itself every 5 s |
//! | `/health` | each pool, as JSON. The status is 200 if [`Registry::is_ready`]: a majority of the default pools votes, and no shutdown has begun. Otherwise 503 |
//! | `/held` | each held lease, and each election in which this process is a candidate, as JSON |
//! | `/sites` | each annotated function with its parameters, as JSON |
//!
//! Do not use `/health` as a liveness probe, because a restart of the process repairs no node. As a readiness probe, it
//! takes all processes out of service at once when too few nodes vote. That includes their routes that need no lock.
//!
//! **Serve these routes on an internal port only.** They show resource names, which may be personal data, and the
//! addresses of the servers. The routes hide passwords, and show only the beginning of an owner token. They are
//! read-only, and answer from memory without any call to a node.
//!
//! The features `axum` and `actix` provide `axum_router` and `actix_scope`. For another framework,
//! serve the [`Document`]s of [`page()`], [`health`], [`held`] and [`sites`], with [`HEADERS`].
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "actix")]
mod actix;
#[cfg(feature = "axum")]
mod axum;
mod page;
mod text;
mod view;

use redlock_runtime::registry::Registry;
use serde::Serialize;
use serde_json::json;

#[cfg(feature = "actix")]
pub use self::actix::actix_scope;
#[cfg(feature = "axum")]
pub use self::axum::axum_router;
use view::{ElectionView, FunctionView, HealthView, LeaseView, all};

/// The headers for every [`Document`].
///
/// With these headers, a browser loads only the document and its own styles. The browser refuses to store the document,
/// to run scripts in it, and to show it in a frame of another page.
///
/// ```
/// for (name, value) in redlock_inspect::HEADERS {
///     println!("{name}: {value}");
/// }
/// ```
pub const HEADERS: [(&str, &str); 4] = [
    ("cache-control", "no-store"),
    (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
];

/// An answer to an HTTP request.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// let document = redlock_inspect::held(redlock.registry());
/// println!("{} {}\n\n{}", document.status, document.content_type, document.body);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// The status code.
    pub status: u16,
    /// The value of the header `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl Document {
    fn json(status: u16, of: &impl Serialize) -> Self {
        Self {
            status,
            content_type: "application/json",
            // The conversion cannot fail for texts, numbers and maps with names.
            body: serde_json::to_string_pretty(of).unwrap_or_default(),
        }
    }
}

/// Returns one page with everything.
///
/// `path` and `query` are those of the request. `path` must be the path that the browser sees, because the page links
/// to the other documents below it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// let page = redlock_inspect::page(redlock.registry(), "/", Some("live"));
/// assert_eq!(page.content_type, "text/html; charset=utf-8");
/// # Ok(()) }
/// ```
pub fn page(registry: &Registry, path: &str, query: Option<&str>) -> Document {
    let is_live = query.is_some_and(|query| query.split('&').any(|part| part == "live"));
    Document {
        status: 200,
        content_type: "text/html; charset=utf-8",
        body: page::render(registry, path, is_live),
    }
}

/// Returns each pool as JSON, with the status of a readiness probe.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// assert_eq!(redlock_inspect::health(redlock.registry()).status, 200);
/// # Ok(()) }
/// ```
pub fn health(registry: &Registry) -> Document {
    let health = HealthView::of(registry);
    Document::json(if health.ready { 200 } else { 503 }, &health)
}

/// Returns each held lease, and each election in which this process is a candidate, as JSON.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// let held = redlock_inspect::held(redlock.registry());
/// assert_eq!(held.content_type, "application/json");
/// # Ok(()) }
/// ```
pub fn held(registry: &Registry) -> Document {
    let (held, elections) = (registry.held(), registry.elections());
    let (held, elections) = (all::<LeaseView, _>(held), all::<ElectionView, _>(elections));
    Document::json(200, &json!({ "held": held, "elections": elections }))
}

/// Returns each annotated function as JSON.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// assert_eq!(redlock_inspect::sites(redlock.registry()).status, 200);
/// # Ok(()) }
/// ```
pub fn sites(registry: &Registry) -> Document {
    let sites = all::<FunctionView, _>(registry.sites());
    Document::json(200, &json!({ "sites": sites }))
}
