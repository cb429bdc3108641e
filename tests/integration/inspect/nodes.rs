//! How real nodes are shown.

use std::time::Duration;

use redlock_runtime::parameters::MaxHold;
use redlock_runtime::registry::Registry;
use redlock_runtime::{Config, lock};
use redlock_tests::{NodeOptions, Nodes, eventually};
use serde_json::{Value, json};

use super::start;
use crate::runtime::fixture::{self, SOON, start_nodes};

fn health(registry: &Registry) -> (u16, Value) {
    let document = redlock_inspect::health(registry);
    let health = serde_json::from_str(&document.body).expect("JSON");
    (document.status, health)
}

/// Waits for what is wanted of the health. A healthy node of a busy machine may be slow.
async fn until(registry: &Registry, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    eventually(what, SOON, async || {
        let (_, health) = health(registry);
        if is_so(&health) {
            Ok(health)
        } else {
            Err(format!("{health:#}"))
        }
    })
    .await
}

fn votes(health: &Value) -> [bool; 3] {
    [0, 1, 2].map(|at| health["pools"][at]["votes"] == json!(true))
}

#[tokio::test]
async fn nodes_are_shown_with_their_votes_and_what_rests_on_them() {
    let nodes = start_nodes(3).await;
    let redlock = start(fixture::config(&nodes)).await;
    let registry = redlock.registry();
    let page = || redlock_inspect::page(registry, "/", None).body;
    nodes[2].kill();
    until(registry, "a dead node", |it| {
        votes(it) == [true, true, false]
    })
    .await;
    // A quarter of the ttl later no answer is out.
    let wanted = lock("r").ttl(SOON / 4).max_hold(MaxHold::Unlimited);
    let lease = registry.clone().scope(wanted.acquire()).await.unwrap();
    let lacks_a_grant = |health: &Value| health["pools"][2]["leases_without_grant"] == json!(1);
    let shown = until(registry, "a lease on the others", lacks_a_grant).await;
    let expected = json!({"voting": 2, "needed": 2, "configured": 3});
    assert_eq!(
        (&shown["votes"], &shown["ready"]),
        (&expected, &json!(true))
    );
    let [a, c] = [&shown["pools"][0], &shown["pools"][2]];
    for error in [&c["reason"], &c["last_error"]] {
        let kind = error["kind"].as_str().unwrap();
        assert!(["disconnected", "not_connected"].contains(&kind), "{c:#}");
    }
    assert_eq!(
        (&a["leases_without_grant"], &a["connections"]),
        (&json!(0), &json!(1))
    );
    assert!(a["latency_us"].as_u64().unwrap() > 0, "{a:#}");
    assert!(a["clock_ahead_us"].is_i64(), "{a:#}");
    let address = a["server"].as_str().unwrap();
    assert!(address.contains(&nodes[0].port().to_string()), "{address}");
    for text in ["does not vote", "1 held here without this node"] {
        assert_eq!(page().matches(text).count(), 1, "{}", page());
    }
    lease.release().await;

    nodes[1].kill();
    until(registry, "two dead nodes", |it| {
        votes(it) == [true, false, false]
    })
    .await;
    let (status, shown) = health(registry);
    assert_eq!((status, &shown["ready"]), (503, &json!(false)));
    assert!(page().contains("No locks: too few nodes vote"));
}

#[tokio::test]
async fn no_document_has_a_password_or_a_whole_token() {
    let protected = NodeOptions::default().password("s3cret");
    let nodes = Nodes::start_with(1, protected).await;
    let config = Config::new().pool("a", &*nodes.urls()[0]);
    let redlock = start(config.node_timeout(SOON).connect_timeout(SOON)).await;
    let registry = redlock.registry();
    let wanted = lock("r").ttl(Duration::from_secs(60)).acquire();
    let lease = registry.clone().scope(wanted).await.unwrap();
    let token = String::from_utf8(nodes[0].get("r").unwrap()).unwrap();
    let random = token.rsplit('/').next().unwrap();
    for document in [
        redlock_inspect::page(registry, "/", None),
        redlock_inspect::health(registry),
        redlock_inspect::held(registry),
        redlock_inspect::sites(registry),
    ] {
        let body = document.body;
        assert!(!body.contains("s3cret"), "{body}");
        // The six digits that logs have too, and no more.
        assert!(!body.contains(&random[..7]), "{body}");
    }
    let held = redlock_inspect::held(registry).body;
    assert!(
        held.contains(&format!("\"token_id\": \"{}\"", &random[..6])),
        "{held}"
    );
    lease.release().await;
}
