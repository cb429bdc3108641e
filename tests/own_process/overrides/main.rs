//! What the configuration says of single functions. In a binary of its own: an override is matched
//! with every annotated function of the program.

mod copied;
mod kinds;
mod refused;
mod shop;

use std::time::Duration;

use redlock_runtime::config::{RestartCheck, SiteConfig};
use redlock_runtime::parameters::{LockOptions, OnLost, Wait};
use redlock_runtime::registry::Layer;
use redlock_runtime::{Config, Redlock, init, lock};
use redlock_tests::{Nodes, eventually};

use shop::Shop as _;

/// How long a test waits for something that takes milliseconds, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The pools `a`, `b` and `c`. They all vote, on a busy machine too. The restart check would keep a
/// node away that was slow while its set was new. Its markers would be among the keys that are set.
fn config(nodes: &Nodes) -> Config {
    let config = Config::new()
        .node_timeout(SOON)
        .connect_timeout(SOON)
        .restart_check(RestartCheck::Off);
    let urls = nodes.urls().into_iter().zip('a'..);
    urls.fold(config, |config, (url, name)| config.pool(name, url))
}

async fn start(nodes: &Nodes, name: &str, site: SiteConfig) -> Redlock {
    let started = Redlock::start(config(nodes).site(name, site)).await;
    started.expect("an override that fits")
}

/// The ttls of a key that is held, as the nodes have them.
async fn ttls(nodes: &Nodes, key: &str) -> Vec<Duration> {
    eventually("the key on every node", SOON, || async {
        let left: Option<Vec<_>> = nodes.iter().map(|node| node.pttl(key).left()).collect();
        left.ok_or_else(|| "not yet".to_owned())
    })
    .await
}

/// Runs `call` until its body has begun, looks at the nodes, and lets it end.
async fn ttls_under<F: Future>(
    redlock: &Redlock,
    nodes: &Nodes,
    stage: &shop::Stage,
    key: &str,
    call: F,
) -> (Vec<Duration>, F::Output) {
    let look = async {
        stage.begun.notified().await;
        let ttls = ttls(nodes, key).await;
        stage.end.notify_one();
        ttls
    };
    tokio::join!(look, redlock.registry().clone().scope(call))
}

#[tokio::test]
async fn a_ttl_is_above_the_attributes_and_above_an_expression_at_the_call() {
    let nodes = Nodes::start(3).await;
    let stage = shop::Stage::default();
    for name in ["overrides::shop::charge", "overrides::shop::charge_for"] {
        let site = SiteConfig::new().ttl(seconds(10));
        // What is above the attribute is above the defaults, too.
        let defaults = LockOptions::new().ttl(seconds(20));
        let config = config(&nodes).defaults(defaults).site(name, site);
        let redlock = Redlock::start(config).await.unwrap();
        let call = async {
            match name {
                "overrides::shop::charge_for" => shop::charge_for(&stage, seconds(60)).await,
                _ => shop::charge(&stage).await,
            }
        };
        let (ttls, done) = ttls_under(&redlock, &nodes, &stage, "charge", call).await;
        done.unwrap();
        assert!(
            ttls.iter().all(|ttl| *ttl <= seconds(10)),
            "{name}: {ttls:?}"
        );
        redlock.shutdown().await;
    }
}

#[tokio::test]
async fn a_function_that_is_not_named_keeps_its_own_values() {
    let nodes = Nodes::start(3).await;
    let stage = shop::Stage::default();
    let site = SiteConfig::new().ttl(seconds(10));
    let redlock = start(&nodes, "overrides::shop::charge_for", site).await;
    let call = shop::charge(&stage);
    let (ttls, done) = ttls_under(&redlock, &nodes, &stage, "charge", call).await;
    done.unwrap();
    assert!(ttls.iter().all(|ttl| *ttl > seconds(30)), "{ttls:?}");
}

#[tokio::test]
async fn every_instance_of_a_generic_function_has_the_override() {
    let nodes = Nodes::start(1).await;
    let site = SiteConfig::new().fencing(true);
    let redlock = start(&nodes, "overrides::shop::generic", site).await;
    let registry = redlock.registry().clone();
    for fenced in [
        registry.clone().scope(shop::generic(1_u8)).await,
        registry.clone().scope(shop::generic("text")).await,
        registry.clone().scope(shop::generic(vec![1.5])).await,
    ] {
        assert!(fenced.unwrap());
    }
    // An override also applies to the default method of a trait, in each type.
    let site = SiteConfig::new().fencing(true);
    let redlock = start(&nodes, "of a trait", site).await;
    let registry = redlock.registry().clone();
    assert!(
        registry
            .clone()
            .scope(shop::North.in_a_trait())
            .await
            .unwrap()
    );
    assert!(
        registry
            .clone()
            .scope(shop::South.in_a_trait())
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn of_methods_on_one_line_the_override_hits_the_one_of_that_name() {
    let nodes = Nodes::start(1).await;
    let site = SiteConfig::new().fencing(true);
    let redlock = start(&nodes, "empty basket", site).await;
    let registry = redlock.registry().clone();
    let cart = registry.clone().scope(shop::Cart::empty()).await;
    let basket = registry.clone().scope(shop::Basket::empty()).await;
    assert_eq!((cart.unwrap(), basket.unwrap()), (false, true));
    let reports = registry.sites();
    let of = |name: &str| reports.iter().find(|it| it.site.site_name() == name);
    let cart = of("empty cart").unwrap();
    let basket = of("empty basket").unwrap();
    let layers = [cart, basket].map(|report| report.parameters["fencing"].layer);
    assert_eq!(layers, [Layer::BuiltIn, Layer::Override]);
    assert_eq!(
        (cart.site.line(), cart.site.file()),
        (basket.site.line(), basket.site.file())
    );
}

#[tokio::test]
async fn pools_are_others_than_the_attribute_names() {
    let nodes = Nodes::start(3).await;
    let stage = shop::Stage::default();
    // The attribute names a pool that does not exist.
    let site = SiteConfig::new().pools(["c"]);
    let redlock = start(&nodes, "overrides::shop::elsewhere", site).await;
    let look = async {
        stage.begun.notified().await;
        let is_there: Vec<_> = nodes
            .values_of("elsewhere")
            .iter()
            .map(Option::is_some)
            .collect();
        stage.end.notify_one();
        is_there
    };
    let call = redlock.registry().clone().scope(shop::elsewhere(&stage));
    let (is_there, done) = tokio::join!(look, call);
    done.unwrap();
    assert_eq!(is_there, [false, false, true]);
}

#[tokio::test]
async fn retries_clear_the_wait_of_the_attribute() {
    let nodes = Nodes::start(3).await;
    // It would wait for ever.
    let site = SiteConfig::new().retry_count(1).retry_delay(Duration::ZERO);
    let redlock = start(&nodes, "overrides::shop::patient", site).await;
    let registry = redlock.registry().clone();
    let lease = registry.clone().scope(lock("queue").acquire()).await;
    let lease = lease.unwrap();
    let refused = registry.scope(shop::patient());
    let refused = tokio::time::timeout(SOON, refused).await;
    let refused = refused.expect("no waiting").unwrap_err();
    assert!(refused.is_contended(), "{refused}");
    lease.release().await;
}

#[tokio::test]
async fn a_wait_clears_the_retries_of_the_attribute() {
    let nodes = Nodes::start(3).await;
    // It would be refused at once. Nobody of its registry has the lock, so that the nodes are asked.
    let other = Redlock::start(config(&nodes)).await.unwrap();
    let site = SiteConfig::new().wait(Wait::Forever);
    let redlock = start(&nodes, "overrides::shop::hasty", site).await;
    let held = other
        .registry()
        .clone()
        .scope(lock("queue").acquire())
        .await;
    let held = held.unwrap();
    let call = tokio::spawn(redlock.registry().clone().scope(shop::hasty()));
    eventually("two acquisitions on each node", SOON, || async {
        let stats = nodes
            .iter()
            .map(|node| node.info("cmdstat_set").unwrap_or_default());
        let stats: Vec<_> = stats.collect();
        let asked = stats
            .iter()
            .all(|it| !it.is_empty() && !it.starts_with("calls=1,"));
        if asked {
            Ok(())
        } else {
            Err(format!("{stats:?}"))
        }
    })
    .await;
    assert!(!call.is_finished());
    held.release().await;
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_other_parameters_arrive_too() {
    let nodes = Nodes::start(3).await;

    let site = SiteConfig::new().clock_drift_factor(0.75);
    let redlock = start(&nodes, "overrides::shop::validity", site).await;
    let validity = redlock.registry().clone().scope(shop::validity()).await;
    assert!(validity.unwrap() <= seconds(15));

    let site = SiteConfig::new().on_lost(OnLost::Continue);
    let redlock = start(&nodes, "overrides::shop::beyond_its_lock", site).await;
    let call = shop::beyond_its_lock(&nodes);
    let lost = redlock.registry().clone().scope(call).await;
    assert!(lost.is_ok(), "{lost:?}");

    let site = SiteConfig::new().once_per(seconds(3600));
    let redlock = start(&nodes, "overrides::shop::validity", site).await;
    let calls = async {
        shop::validity().await.unwrap();
        shop::validity().await.unwrap_err()
    };
    let refused = redlock.registry().clone().scope(calls).await;
    assert!(refused.is_already_run(), "{refused}");
}

#[tokio::test]
async fn a_variable_is_above_the_file_and_both_above_the_attribute() {
    let nodes = Nodes::start(3).await;
    let stage = shop::Stage::default();
    let file = "[sites.\"overrides::shop::charge\"]\nttl = '30s'\nclock_drift_factor = 0.5";
    let urls = nodes.urls();
    let config = Config::from_toml(file)
        .unwrap()
        .node_timeout(SOON)
        .connect_timeout(SOON)
        .pool("a", &*urls[0])
        .with_env([("REDLOCK_SITES_OVERRIDES__SHOP__CHARGE_TTL", "10s")])
        .unwrap();
    let redlock = Redlock::start(config).await.unwrap();
    let look = async {
        stage.begun.notified().await;
        let left = nodes[0].pttl("charge").left().unwrap();
        stage.end.notify_one();
        left
    };
    let call = redlock.registry().clone().scope(shop::charge(&stage));
    let (left, validity) = tokio::join!(look, call);
    assert!(left <= seconds(10), "{left:?}");
    assert!(
        validity.unwrap() <= seconds(5),
        "what the variable does not say is the file's"
    );
}

#[tokio::test]
async fn init_takes_an_override_where_the_attribute_would_be_refused() {
    let nodes = Nodes::start(3).await;
    // Its attribute names a pool that there is not.
    let refused = init(config(&nodes)).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.problems().len(), 1, "{refused}");
    assert!(
        refused.to_string().contains("names the pool `nowhere`"),
        "{refused}"
    );
    let site = SiteConfig::new().pools(["a"]);
    let redlock = init(config(&nodes).site("overrides::shop::elsewhere", site)).await;
    redlock.unwrap().shutdown().await;
}
