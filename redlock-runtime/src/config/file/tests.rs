use std::time::Duration;

use redlock_core::lease::OnLost;
use redlock_core::request::Renewal;

use super::*;
use crate::parameters::{MinValidity, Wait};

#[test]
fn every_key_of_the_file_arrives() {
    let config = Config::from_toml(
        r#"
        default_pools = ["b", "a"]
        key_prefix = "shop:"
        max_ttl = "10m"
        node_timeout = 75
        connect_timeout = "2s"
        restart_check = "strict"
        [pools.a]
        url = "redis://h:1"
        vetting = "warn"
        trust_aof = true
        tls_ca = "ca.pem"
        tls_cert = "client.pem"
        tls_key = "client.key"
        [pools.b]
        url = "memory://b"
        [defaults]
        ttl = "1m 30s"
        retry_count = 5
        retry_delay = "50ms"
        clock_drift_factor = 0.02
        min_validity = 0.5
        max_hold = "unlimited"
        fencing = true
        on_lost = "continue"
        [waiting]
        handovers = 8
        handover_time = "20ms"
        max_callers_per_lock = 9
        max_callers = 90
        [shutdown]
        grace = "3s"
        deadline = "4s"
        release_on_exit = true
        [http]
        contended_status = 409
        "#,
    )
    .unwrap();
    assert_eq!(config.pools.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        config.default_pools.as_deref(),
        Some(&["b".to_owned(), "a".to_owned()][..])
    );
    assert_eq!(config.key_prefix, "shop:");
    assert_eq!(config.max_ttl, Duration::from_secs(600));
    assert_eq!(config.node_timeout, Duration::from_millis(75));
    assert_eq!(config.connect_timeout, Duration::from_secs(2));
    assert_eq!(config.handover.most, 8);
    assert_eq!(config.handover.longest, Duration::from_millis(20));
    assert_eq!(config.max_waiting, (9, 90));
    assert_eq!(config.shutdown_grace, Duration::from_secs(3));
    assert_eq!(config.shutdown_deadline, Duration::from_secs(4));
    assert!(config.release_on_exit);
    assert_eq!(config.http.contended_status, 409);
    assert_eq!(config.restart_check, Some(RestartCheck::Strict));
    let mut settings = PoolSettings {
        vetting: Some(Vetting::Warn),
        trust_aof: Some(true),
        ..PoolSettings::default()
    };
    settings.tls.ca = Some("ca.pem".into());
    settings.tls.certificate = Some("client.pem".into());
    settings.tls.key = Some("client.key".into());
    assert_eq!(config.pool_settings["a"], settings);
    assert_eq!(config.pool_settings.len(), 1);
    assert_eq!(config.defaults.ttl, Some(Duration::from_secs(90)));
    assert_eq!(config.defaults.retry_count, Some(5));
    assert_eq!(config.defaults.retry_delay, Some(Duration::from_millis(50)));
    assert_eq!(config.defaults.clock_drift_factor, Some(0.02));
    assert_eq!(
        config.defaults.min_validity,
        Some(MinValidity::Fraction(0.5))
    );
    assert_eq!(config.defaults.max_hold, Some(Renewal::Unlimited));
    assert_eq!(config.defaults.fencing, Some(true));
    assert_eq!(config.defaults.on_lost, Some(OnLost::Continue));
}

#[test]
fn a_wait_is_a_time_or_forever() {
    for (text, expected) in [
        ("wait = 1500", Wait::For(Duration::from_millis(1500))),
        ("wait = '5s'", Wait::For(Duration::from_secs(5))),
        ("wait = 'forever'", Wait::Forever),
    ] {
        let config = Config::from_toml(&format!("[defaults]\n{text}")).unwrap();
        assert_eq!(config.defaults.wait, Some(expected), "{text}");
    }
}

#[test]
fn what_is_unknown_or_wrong_is_refused_at_its_line_without_secrets() {
    for (text, line, hint) in [
        (
            "\n[pools.a]\nurl = \"redis://h\"\nttl = 3",
            "line 4",
            "unknown key `ttl`",
        ),
        ("pool = 3", "line 1", "unknown key `pool`"),
        ("[defaults]\nttl = \"soon\"", "line 2", "no duration"),
        ("[defaults]\nttl = -1", "line 2", "negative"),
        ("[defaults]\nwait = 'always'", "line 2", "forever"),
        ("[defaults]\non_lost = \"ignore\"", "line 2", "cancel"),
        ("restart_check = \"maybe\"", "line 1", "strict"),
        (
            "[pools.a]\nurl = \"redis://h\"\nvetting = \"ask\"",
            "line 3",
            "refuse",
        ),
        ("[pools.a]\nurl = \"redis://u:s3cret@h\" x", "line 2", ""),
    ] {
        let error = Config::from_toml(text).unwrap_err().to_string();
        assert!(
            error.contains(line) && error.contains(hint),
            "{text:?}: {error}"
        );
        assert!(!error.contains("s3cret"), "{error}");
    }
}
