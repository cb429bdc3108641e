//! Servers that want to know who connects.

use redlock_core::redis::TlsOptions;
use redlock_tests::{Authority, NodeOptions, RedisNode};

use crate::tls::fixture::{connect, lock_once, refusal, showing, trusting};

const VERSIONS: [&str; 2] = ["TLSv1.2", "TLSv1.3"];

async fn strict(authority: &Authority, version: &str) -> RedisNode {
    let options = NodeOptions::default().tls(authority);
    let options = options.wants_client_certificates();
    RedisNode::start_with(options.arg("tls-protocols", version)).await
}

#[tokio::test]
async fn a_client_certificate_is_shown() {
    let authority = Authority::new();
    let tls = showing(&authority.issue(&["worker-7"]), trusting(&authority));
    for version in VERSIONS {
        let server = strict(&authority, version).await;
        lock_once(&connect([server.url()], &tls).await).await;
    }
}

#[tokio::test]
async fn a_missing_one_is_refused() {
    let authority = Authority::new();
    for version in VERSIONS {
        let server = strict(&authority, version).await;
        let reason = refusal(&server.url(), &trusting(&authority)).await;
        let expected = "received fatal alert: ";
        assert!(reason.starts_with(expected), "{version}: {reason}");
    }
}

#[tokio::test]
async fn one_that_the_server_does_not_trust_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let expired: TlsOptions = showing(&authority.issue_expired(&["w"]), trusting(&authority));
    let foreign = showing(&other.issue(&["w"]), trusting(&authority));
    for version in VERSIONS {
        let server = strict(&authority, version).await;
        for (tls, why) in [(&foreign, "UnknownCA"), (&expired, "CertificateExpired")] {
            let reason = refusal(&server.url(), tls).await;
            assert!(reason.contains(why), "{version}: {reason}");
        }
    }
}
