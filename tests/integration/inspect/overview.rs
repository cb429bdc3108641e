//! What the registry says.

use std::time::{Duration, SystemTime};

use redlock_runtime::config::SiteConfig;
use redlock_runtime::parameters::{DEFAULT_RETRY_DELAY, LockOptions, Wait};
use redlock_runtime::registry::{Layer, Registry, SiteReport};
use redlock_runtime::{LockError, lock, redlock};

use super::{in_memory, pools, start};
use crate::runtime::fixture::SOON;

#[redlock(resource = "order:{id}", ttl = "40s", fencing = true, note = "refund {id}", guard = lease)]
async fn outer(id: u64, registry: &Registry) -> Result<(), LockError> {
    lease.extend(Duration::from_secs(240)).await?;
    let (before, held) = (SystemTime::now(), registry.held());
    assert_eq!(held.len(), 1, "{held:?}");
    let held = &held[0];
    assert_eq!(held.resource.to_string(), format!("order:{id}"));
    let site = held.site;
    assert!(site.name().ends_with("overview::outer"), "{site}");
    assert!(held.since <= before && held.since + SOON > before);
    assert_eq!(held.ttl, Duration::from_secs(40));
    let validity = held.validity;
    assert!(validity > Duration::from_secs(40) && validity < Duration::from_secs(240));
    assert_eq!(held.extensions, 1);
    assert_eq!(held.fencing_token, Some(lease.fencing_token()));
    assert_eq!(held.token_id, lease.token_id());
    assert_eq!(held.note.as_ref().unwrap().as_str(), "refund 42");
    assert_eq!(held.pools, ["a", "b", "c"]);
    assert_eq!((held.sharers, held.waiting, held.has_body), (1, 0, true));
    inner(id, registry).await
}

#[redlock(resource = "order:{id}")]
async fn inner(id: u64, registry: &Registry) -> Result<(), LockError> {
    let held = registry.held();
    let [above, here] = &held[..] else {
        panic!("each is listed by itself: {held:?}");
    };
    assert!(here.site.name().ends_with("overview::inner"));
    assert_eq!(above.token_id, here.token_id);
    assert_eq!((above.sharers, here.sharers), (2, 2));
    Ok(())
}

#[tokio::test]
async fn a_held_lease_tells_who_holds_what_and_since_when() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    registry.clone().scope(outer(42, registry)).await.unwrap();
    assert!(registry.held().is_empty());
}

#[tokio::test]
async fn those_who_stand_in_line_and_what_has_no_body_are_told() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let _entered = registry.enter();
    let lease = lock("r").acquire().await.unwrap();
    let other = lock("s").acquire().await.unwrap();
    let waiting = async {
        let lease = lock("r").wait(Wait::Forever).acquire().await;
        lease.unwrap().release().await;
    };
    let looking = async {
        assert_eq!(registry.waiting(), 1);
        let held = registry.held();
        assert_eq!((held[0].waiting, held[1].waiting), (1, 0));
        assert!(held.iter().all(|it| !it.has_body));
        lease.release().await;
    };
    tokio::join!(waiting, looking);
    assert_eq!(registry.waiting(), 0);
    other.release().await;
}

#[redlock(resource = "plain:{id}", pools = ["a"], on_lost = "continue", name = "the plain one")]
async fn plain(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "by call", ttl = ttl, retry_count = 1 + 1)]
async fn by_call(ttl: Duration) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "sweep", if_locked = "skip", max_hold = "1h", ttl = 2000)]
async fn sweep() {}

/// Other functions of the program have the same names in other modules.
const BY_CALL: &str = concat!(module_path!(), "::by_call");
const OUTER: &str = concat!(module_path!(), "::outer");
const SWEEP: &str = concat!(module_path!(), "::sweep");

#[tokio::test]
async fn a_site_is_told_with_what_it_locks_in_this_registry() {
    let config = pools(["a", "b"]);
    let defaults = LockOptions::new().ttl(Duration::from_secs(7));
    let config = config.default_pools(["b"]).defaults(defaults);
    let defaults = LockOptions::new().wait(Duration::from_secs(3));
    let over = SiteConfig::new().ttl(Duration::from_secs(9)).pools(["a"]);
    let config = config.defaults(defaults).site(OUTER, over);
    let redlock = start(config).await;
    let registry = redlock.registry();
    let of = |name: &str| {
        let found = registry.sites().into_iter();
        let mut found = found.filter(|it| it.site.name() == name);
        found.next().expect("it is linked into this program")
    };
    let site = of("the plain one");
    assert_eq!(site.site.resource_template(), "plain:{id}");
    assert!(site.site.file().ends_with("overview.rs") && site.site.line() > 1);
    assert_eq!(site.held, 0);
    let says = |site: &SiteReport, name: &str, value: Option<&str>, layer: Layer| {
        let parameter = &site.parameters[name];
        assert_eq!(
            (parameter.value.as_deref(), parameter.layer),
            (value, layer)
        );
    };
    says(&site, "pools", Some("a"), Layer::Attribute);
    says(&site, "ttl", Some("7s"), Layer::Defaults);
    says(&site, "wait", Some("3s"), Layer::Defaults);
    assert!(!site.parameters.contains_key("retry_count"));
    says(&site, "on_lost", Some("continue"), Layer::Attribute);
    let delay = format!("{DEFAULT_RETRY_DELAY:?}");
    says(&site, "retry_delay", Some(&delay), Layer::BuiltIn);
    says(&site, "if_locked", Some("error"), Layer::BuiltIn);

    let site = of(BY_CALL);
    says(&site, "ttl", None, Layer::Call);
    says(&site, "retry_count", None, Layer::Call);
    assert!(!site.parameters.contains_key("wait"), "the call answers it");
    says(&site, "pools", Some("b"), Layer::Defaults);

    let site = of(SWEEP);
    says(&site, "if_locked", Some("skip"), Layer::Attribute);
    // Who skips does not wait.
    says(&site, "retry_count", Some("0"), Layer::Attribute);
    says(&site, "max_hold", Some("1h"), Layer::Attribute);

    let site = of(OUTER);
    says(&site, "ttl", Some("9s"), Layer::Override);
    says(&site, "pools", Some("a"), Layer::Override);

    let called = async {
        plain(1).await.unwrap();
        sweep().await;
        by_call(Duration::from_secs(60)).await.unwrap();
    };
    registry.clone().scope(called).await;
}

#[tokio::test]
async fn a_registry_is_ready_while_a_majority_votes() {
    let config = pools(["a", "b", "c", "apart"]);
    let redlock = start(config.default_pools(["a", "b", "c"])).await;
    let registry = redlock.registry();
    let cut = |name: &str| registry.memory_node(name).unwrap().cut();
    cut("apart");
    let votes = registry.votes();
    assert_eq!((votes.voting, votes.needed, votes.configured), (3, 2, 3));
    cut("a");
    assert!(registry.is_ready() && registry.votes().voting == 2);
    let health = registry.health();
    let apart = health.iter().find(|it| it.pool == "apart").unwrap();
    assert!(!apart.is_default && !apart.is_voting() && !apart.node_health.is_connected);
    let c = health.iter().find(|it| it.pool == "c").unwrap();
    assert!(c.is_default && c.is_voting() && c.node_health.is_connected);
    cut("b");
    assert!(!registry.is_ready());
    registry.memory_node("b").unwrap().restore();
    assert!(registry.is_ready());
    let registry = registry.clone();
    redlock.shutdown().await;
    assert!(registry.is_closing() && !registry.is_ready());
}
