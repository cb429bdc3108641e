//! The page of `redlock-inspect` in a browser: on a narrow and a wide screen, light and dark.

mod chromium;

use std::env;
use std::fs;
use std::time::Duration;

use base64::prelude::*;
use redlock_runtime::parameters::{LockOptions, Wait};
use redlock_runtime::registry::Registry;
use redlock_runtime::{Config, LockError, Redlock, Resource, election, lock, redlock};
use redlock_tests::{Nodes, eventually};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use chromium::Chromium;

const SOON: Duration = Duration::from_secs(20);

#[redlock(resource = "order:{id}", name = "shop::charge", ttl = "30s", wait = wait, fencing = true)]
async fn charge(id: u64, wait: Duration, end: &Notify) -> Result<(), LockError> {
    println!("order {id}");
    end.notified().await;
    Ok(())
}

#[redlock(
    resource = "report",
    name = "shop::report",
    once_per = "1h",
    max_hold = "1h",
    note = "of today"
)]
async fn report(end: &Notify) -> Result<(), LockError> {
    end.notified().await;
    Ok(())
}

/// Serves the page until the end of the test, and returns its address.
async fn serve(registry: &Registry) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let app = redlock_inspect::axum_router("", registry);
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let look = async || is_so().then_some(()).ok_or_else(String::new);
    eventually(what, SOON, look).await;
}

/// Looks at the page in each width and color scheme, the one of the picture last.
fn check(browser: &mut Chromium, url: &str) {
    for (width, scheme) in [
        (390, "light"),
        (390, "dark"),
        (1280, "dark"),
        (1280, "light"),
    ] {
        let size =
            json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600});
        browser.command("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        browser.command("Emulation.setEmulatedMedia", &json!({"features": scheme}));
        browser.open(url);
        let found = browser.evaluate(include_str!("check.js"));
        assert_eq!(found, json!([]), "{width} px, {scheme}");
    }
}

/// Writes a picture of the page to `docs/` if `UPDATE_EXPECT` is set, and else to `target/tmp/`.
fn picture(browser: &mut Chromium, name: &str) {
    let size = browser.command("Page.getLayoutMetrics", &json!({}))["cssContentSize"].take();
    let clip =
        json!({"x": 0, "y": 0, "scale": 1, "width": size["width"], "height": size["height"]});
    let shot = json!({"captureBeyondViewport": true, "clip": clip});
    let shot = browser.command("Page.captureScreenshot", &shot);
    let shot = BASE64_STANDARD.decode(shot["data"].as_str().expect("a text"));
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
    let is_for_docs = env::var_os("UPDATE_EXPECT").is_some();
    let folder = if is_for_docs {
        docs
    } else {
        env!("CARGO_TARGET_TMPDIR")
    };
    fs::write(format!("{folder}/{name}"), shot.expect("base64")).expect("a folder");
}

// The browser is waited for in place, beside the thread that serves the page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_whole_and_readable_on_every_screen() {
    let nodes = Nodes::start(3).await;
    let config = Config::new().node_timeout(SOON).connect_timeout(SOON);
    let pools = nodes.urls().into_iter().zip('a'..);
    let config = pools.fold(config, |config, (url, name)| config.pool(name, url));
    let config = config
        .pool("archive", "memory://archive")
        .default_pools(["a", "b", "c"]);
    let config = config.site("shop::report", LockOptions::new().ttl(SOON * 2));
    let redlock = Redlock::start(config).await.expect("a good configuration");
    let registry = redlock.registry();
    let url = serve(registry).await;
    let end = Notify::new();
    let office = election("reindex").name("shop::reindex");
    let leading = office.run(async |_| end.notified().await);
    let charging = async { tokio::join!(charge(4711, SOON, &end), charge(4712, SOON, &end)) };
    let waiting = lock("order:4711").wait(Wait::Forever).acquire();
    let calls = async { tokio::join!(charging, report(&end), leading, waiting) };
    let looking = async {
        let is_busy = || registry.held_count() == 4 && registry.waiting() == 1;
        until("the calls under their locks", is_busy).await;
        nodes[2].restart().await;
        until("a node that may have forgotten", || {
            registry.votes().voting == 2
        })
        .await;
        let mut browser = Chromium::start();
        check(&mut browser, &url);
        picture(&mut browser, "inspect.png");
        hostile_names(&mut browser).await;
    };
    let both = async {
        tokio::select! {
            _ = calls => panic!("the calls ended"),
            () = looking => {}
        }
    };
    Box::pin(registry.clone().scope(both)).await;
}

/// Names of others are long, in one word, or in another direction.
async fn hostile_names(browser: &mut Chromium) {
    let config = Config::new().pool("W".repeat(60), "memory://a");
    let redlock = Redlock::start(config).await.expect("a good configuration");
    let registry = redlock.registry();
    let mut leases = Vec::new();
    for name in ["report of the month/", "W", "\u{202e}gnp.exe <b>/"] {
        let names = Resource::all([name.repeat(30), name.repeat(31)]);
        let wanted = lock(names).note(name.repeat(4)).acquire();
        leases.push(registry.clone().scope(wanted).await.expect("a free lock"));
    }
    check(browser, &serve(registry).await);
}
