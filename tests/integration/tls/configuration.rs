//! What `start` makes of a pool's TLS settings.

use std::fs;
use std::path::Path;

use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::{Authority, NodeOptions, Nodes, RedisNode, drop_after, wait_until};

use crate::tls::fixture::SOON;

async fn refusal(config: Config) -> String {
    let started = Redlock::start(config).await.map(|_| ());
    started.unwrap_err().to_string()
}

type Settings<'a> = &'a [(&'a str, &'a Path)];

fn in_file(url: &str, settings: Settings<'_>) -> Config {
    let lines = settings.iter();
    let lines = lines.map(|(setting, path)| format!("{setting} = '{}'\n", path.display()));
    let lines: Vec<_> = lines.collect();
    Config::from_toml(&format!("[pools.eu]\nurl = '{url}'\n{}", lines.concat())).unwrap()
}

#[tokio::test]
async fn the_file_the_variables_and_the_builder_configure_it() {
    let authority = Authority::new();
    let options = NodeOptions::default().tls(&authority);
    let server = RedisNode::start_with(options.wants_client_certificates()).await;
    let shown = authority.issue(&["worker"]);
    let url = server.url();
    let settings = [
        ("tls_ca", authority.ca()),
        ("tls_cert", &*shown.certificate),
        ("tls_key", &*shown.key),
    ];
    let variables = settings.map(|(setting, path)| {
        let name = format!("REDLOCK_POOLS_EU_{}", setting.to_ascii_uppercase());
        (name, path.display().to_string())
    });
    for config in [
        in_file(&url, &settings),
        in_file(&url, &[]).with_env(variables).unwrap(),
        Config::new()
            .pool("eu", &*url)
            .tls_ca("eu", authority.ca())
            .tls_cert("eu", &shown.certificate)
            .tls_key("eu", &shown.key),
    ] {
        let config = config.node_timeout(SOON).connect_timeout(SOON);
        let redlock = Redlock::start(config).await.unwrap();
        let registry = redlock.registry().clone();
        let work = async { lock("r").acquire().await.unwrap().release().await };
        registry.scope(work).await;
        redlock.shutdown().await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_said_and_not_what_is_in_it() {
    let authority = Authority::new();
    let one = authority.issue(&["one"]);
    let secret = fs::read_to_string(&one.key).unwrap();
    let secret = secret.lines().nth(1).unwrap();
    let dir = authority.ca().parent().unwrap();
    let missing = dir.join("missing.pem");
    let torn = dir.join("torn.pem");
    fs::write(&torn, format!("-----BEGIN PRIVATE KEY-----\n{secret}\n")).unwrap();
    let (cert, key) = (&*one.certificate, &*one.key);
    let cases: &[(Settings<'_>, &[&str])] = &[
        (
            &[("tls_ca", &missing)],
            &["`tls_ca`", "no such file or directory"],
        ),
        (&[("tls_ca", dir)], &["`tls_ca`", "directory"]),
        (&[("tls_ca", key)], &["`tls_ca`", "no certificate"]),
        (&[("tls_cert", cert)], &["`tls_cert`", "without `tls_key`"]),
        (&[("tls_key", key)], &["`tls_key`", "without `tls_cert`"]),
        (
            &[("tls_cert", key), ("tls_key", key)],
            &["`tls_cert`", "no certificate"],
        ),
        (
            &[("tls_cert", cert), ("tls_key", cert)],
            &["`tls_key`", "private key"],
        ),
        (
            &[("tls_cert", cert), ("tls_key", &torn)],
            &["`tls_key`", "private key"],
        ),
    ];
    for (settings, hints) in cases {
        let mut settings = settings.to_vec();
        if !settings.iter().any(|(setting, _)| *setting == "tls_ca") {
            settings.push(("tls_ca", authority.ca()));
        }
        let config = in_file("rediss://u:passw0rd@127.0.0.1:1", &settings);
        let debug = format!("{config:?}");
        let text = refusal(config).await;
        assert!(text.contains("pool `eu`: "), "{text}");
        for hint in *hints {
            assert!(text.contains(hint), "{hint}: {text}");
        }
        for shown in [&text, &debug] {
            assert!(
                !shown.contains(secret) && !shown.contains("passw0rd"),
                "{shown}"
            );
        }
    }
}

#[tokio::test]
async fn verification_cannot_be_switched_off() {
    let text = refusal(in_file("rediss://127.0.0.1:1#insecure", &[])).await;
    assert!(text.contains("TLS is always verified"), "{text}");
}

#[tokio::test]
async fn a_start_that_is_dropped_during_handshakes_leaves_nothing() {
    let authority = Authority::new();
    let nodes = Nodes::start_with(3, NodeOptions::default().tls(&authority)).await;
    let config = nodes.urls().into_iter().zip(["a", "b", "c"]);
    let config = config.fold(Config::new().node_timeout(SOON), |config, (url, name)| {
        config.pool(name, url).tls_ca(name, authority.ca())
    });
    for polls in 0..4 {
        if let Some(started) = drop_after(polls, Redlock::start(config.clone())).await {
            started.unwrap().shutdown().await;
        }
    }
    let connected = || -> Vec<String> {
        let connected = nodes.iter().map(|node| node.info("connected_clients"));
        connected.flatten().collect()
    };
    // Each node's only connection is the one that asks.
    let are_closed = |connected: &Vec<String>| *connected == ["1", "1", "1"];
    wait_until("the connections to be closed", connected, are_closed).await;
}
