//! Clients of servers with TLS.

use redlock_core::NodeSet;
use redlock_core::redis::{RedisAddress, TlsOptions};
use redlock_tests::{Authority, Identity};

pub(crate) use crate::core::fixture::{SOON, client, lock_once, once, until_voting};
use crate::core::fixture::{calm, connect_to, reason};

/// Trusts what `authority` issued.
pub(crate) fn trusting(authority: &Authority) -> TlsOptions {
    TlsOptions::default().ca(authority.ca().to_owned())
}

pub(crate) fn showing(identity: &Identity, options: TlsOptions) -> TlsOptions {
    options
        .certificate(identity.certificate.clone())
        .key(identity.key.clone())
}

pub(crate) fn address(url: &str, tls: &TlsOptions) -> RedisAddress {
    let address = RedisAddress::parse(url).expect("the harness makes good URLs");
    address.with_tls(tls.clone()).expect("good files")
}

/// A node for each URL, each connected or known not to be.
pub(crate) async fn connect(urls: impl IntoIterator<Item = String>, tls: &TlsOptions) -> NodeSet {
    let nodes = urls.into_iter().map(|url| (address(&url, tls), calm()));
    connect_to(nodes).await
}

/// Why a server that is connected to like this does not vote; it has to be known at the first
/// attempt.
pub(crate) async fn refusal(url: &str, tls: &TlsOptions) -> String {
    let set = connect([url.to_owned()], tls).await;
    reason(&set[0]).expect("it votes").to_string()
}
