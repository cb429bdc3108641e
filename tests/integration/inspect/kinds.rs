//! What is shown of permits, readers and writers.

use redlock_runtime::{LockError, redlock};
use serde_json::{Value, json};

use crate::inspect::fixture::{Framework, Served, config, start};
use crate::runtime::fixture::start_nodes;

/// The held lock, its site, and the page, as they are served.
async fn shown(served: &Served, name: &str) -> (Value, Value, String) {
    let held = served.json("/held").await["held"][0].clone();
    assert_eq!(held["site"], json!(name));
    let sites = served.json("/sites").await;
    let sites = sites["sites"].as_array().expect("an array").iter();
    let site = sites.clone().find(|it| it["site"] == json!(name));
    let site = site.expect("its site").clone();
    (held, site, served.get("/").await.body)
}

#[redlock(resource = "inspect: reports", permits = 4, name = "inspect: permits")]
async fn one_of_four(on: &[Served]) -> Result<(), LockError> {
    for served in on {
        let (held, site, page) = shown(served, "inspect: permits").await;
        let permit = &held["permit"];
        assert!(
            permit.is_number() && held["mode"] == Value::Null,
            "{held:#}"
        );
        let parameters = &site["parameters"];
        let permits = json!({"value": "4", "layer": "attribute"});
        assert_eq!(parameters["permits"], permits, "{parameters:#}");
        let number = format!("permit {permit}");
        assert!(
            page.contains(&number) && page.contains("<code>permits</code> 4"),
            "{page}"
        );
    }
    Ok(())
}

#[redlock(resource = "inspect: counted", permits = count, name = "inspect: by call")]
async fn one_of(count: u32, on: &[Served]) -> Result<(), LockError> {
    for served in on {
        let (held, site, page) = shown(served, "inspect: by call").await;
        let permits = json!({"value": null, "layer": "call"});
        assert_eq!(site["parameters"]["permits"], permits);
        assert!(held["permit"].is_number(), "{held:#}");
        assert!(page.contains("said by the call"), "{page}");
    }
    Ok(())
}

#[redlock(resource = "inspect: read", mode = "read", name = "inspect: read")]
async fn reads(on: &[Served]) -> Result<(), LockError> {
    has_mode(on, "read").await;
    Ok(())
}

#[redlock(resource = "inspect: write", mode = "write", name = "inspect: write")]
async fn writes(on: &[Served]) -> Result<(), LockError> {
    has_mode(on, "write").await;
    Ok(())
}

async fn has_mode(on: &[Served], mode: &str) {
    for served in on {
        let (held, site, page) = shown(served, &format!("inspect: {mode}")).await;
        assert_eq!(
            (&held["mode"], &held["permit"]),
            (&json!(mode), &Value::Null)
        );
        assert_eq!(site["parameters"]["mode"]["value"], json!(mode));
        let shown = [
            format!("<code>mode</code> {mode}"),
            format!("<small>{mode}s</small>"),
        ];
        assert!(shown.iter().all(|it| page.contains(it)), "{page}");
    }
}

#[tokio::test]
async fn permits_and_modes_are_shown_with_the_lock_and_with_its_function() {
    let nodes = start_nodes(3).await;
    let redlock = start(config(&nodes)).await;
    let registry = redlock.registry();
    let on = Framework::ALL.map(|framework| Served::at(framework, "", registry));
    let calls = async {
        one_of_four(&on).await.unwrap();
        one_of(3, &on).await.unwrap();
        reads(&on).await.unwrap();
        writes(&on).await.unwrap();
    };
    registry.clone().scope(calls).await;
}
