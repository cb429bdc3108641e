//! Overrides that change the kind of a function's lock.

use redlock_runtime::config::SiteConfig;
use redlock_runtime::parameters::Mode;
use redlock_runtime::registry::Registry;
use redlock_tests::Nodes;

use crate::{shop, start};

#[tokio::test]
async fn an_override_gives_a_function_permits_or_a_mode() {
    let nodes = Nodes::start(3).await;
    let registry_of = async |name: &str, site| -> (_, Registry) {
        let redlock = start(&nodes, &format!("overrides::shop::{name}"), site).await;
        let registry = redlock.registry().clone();
        (redlock, registry)
    };
    let (_redlock, registry) = registry_of("kind", SiteConfig::new()).await;
    let plain = registry.scope(shop::kind()).await.unwrap();
    assert_eq!(plain, (None, None));

    let (_redlock, registry) = registry_of("kind", SiteConfig::new().permits(3)).await;
    let (mode, permit) = registry.scope(shop::kind()).await.unwrap();
    assert!(mode.is_none() && permit.is_some());

    for mode in [Mode::Read, Mode::Write] {
        let (_redlock, registry) = registry_of("kind", SiteConfig::new().mode(mode)).await;
        let has = registry.scope(shop::kind()).await.unwrap();
        assert_eq!(has, (Some(mode), None));
    }

    // Above what the attribute says.
    let reads = SiteConfig::new().mode(Mode::Read);
    let (_redlock, registry) = registry_of("writes", reads).await;
    let has = registry.scope(shop::writes()).await.unwrap();
    assert_eq!(has, Some(Mode::Read));
}
