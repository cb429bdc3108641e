//! Nodes by clients of the user's own.

use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::ThreadId;

use futures_util::{Stream, stream};
use redlock_core::NodeSet;
use redlock_core::redis::RedisAddress;
use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::redis::io::AsyncDNSResolver;
use redlock_tests::redis::{
    AsyncConnectionConfig, BasicAuth, Client, ClientTlsConfig, RedisFuture, RedisResult,
    StreamingCredentialsProvider, TlsCertificates,
};
use redlock_tests::{Authority, NodeOptions, RedisNode, wait_until};
use tokio::sync::watch;

use crate::core::fixture::{
    SOON, client, connect_to, lock_once, once, patient, reason, until_abstaining, until_voting,
};

async fn set_of(client: &Client, config: AsyncConnectionConfig) -> NodeSet {
    let address = RedisAddress::of_client(client, Some(config)).unwrap();
    assert!(!format!("{address:?}").contains("s3cret"));
    connect_to([(address, patient())]).await
}

#[tokio::test]
async fn its_login_and_its_database_are_the_nodes() {
    let server = RedisNode::start_with(NodeOptions::default().password("s3cret")).await;
    let own = Client::open(format!("{}/3", server.url())).unwrap();
    // Limits that would change the order of commands, or give up answers, are not used.
    let config = AsyncConnectionConfig::new()
        .set_concurrency_limit(1)
        .set_pipeline_buffer_size(1);
    let set = set_of(&own, config).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    let keys = server.info("db3");
    assert!(keys.is_some_and(|keys| keys.starts_with("keys=1")));
    lease.release().await;
    assert_eq!(server.info("db3"), None);
}

/// Knows an address once there is one, and on which threads it was asked.
#[derive(Clone, Default)]
struct Resolver {
    address: Arc<OnceLock<SocketAddr>>,
    asked_on: Arc<Mutex<HashSet<ThreadId>>>,
}

impl AsyncDNSResolver for Resolver {
    fn resolve<'a, 'b: 'a>(
        &'a self,
        _host: &'b str,
        _port: u16,
    ) -> RedisFuture<'a, Box<dyn Iterator<Item = SocketAddr> + Send + 'a>> {
        let thread = std::thread::current().id();
        self.asked_on.lock().unwrap().insert(thread);
        let known: Box<dyn Iterator<Item = _> + Send> =
            Box::new(self.address.get().copied().into_iter());
        Box::pin(std::future::ready(Ok(known)))
    }
}

#[tokio::test]
async fn a_resolver_without_an_address_is_named_and_asked_again() {
    let (server, resolver) = (RedisNode::start().await, Resolver::default());
    let own = Client::open("redis://locks.internal:7000").unwrap();
    let config = AsyncConnectionConfig::new().set_dns_resolver(resolver.clone());
    let set = set_of(&own, config).await;
    let reason = reason(&set[0]).expect("connected to nowhere");
    assert_eq!(
        reason.to_string(),
        "the client's resolver gave no address for locks.internal:7000"
    );
    resolver.address.set(server.addr()).unwrap();
    until_voting(&set[0], true).await;
    let own_runtime = HashSet::from([std::thread::current().id()]);
    assert_eq!(*resolver.asked_on.lock().unwrap(), own_runtime);
}

/// The present password of the user `me`.
struct Rotating(watch::Receiver<&'static str>);

impl StreamingCredentialsProvider for Rotating {
    fn subscribe(&self) -> Pin<Box<dyn Stream<Item = RedisResult<BasicAuth>> + Send>> {
        let mut passwords = self.0.clone();
        passwords.mark_changed();
        Box::pin(stream::unfold(passwords, async |mut passwords| {
            passwords.changed().await.ok()?;
            let password = passwords.borrow_and_update().to_string();
            Some((Ok(BasicAuth::new("me".into(), password)), passwords))
        }))
    }
}

#[tokio::test]
async fn a_provider_of_credentials_logs_in_with_the_present_ones() {
    let server = RedisNode::start().await;
    server.command(["ACL", "SETUSER", "me", "on", ">s3cret", "~*", "+@all"]);
    let (password, present) = watch::channel("stale-s3cret");
    let config = AsyncConnectionConfig::new().set_credentials_provider(Rotating(present));
    let own = Client::open(format!("redis://{}", server.addr())).unwrap();
    let set = set_of(&own, config).await;
    let refusal = until_abstaining(&set[0], "WRONGPASS").await;
    assert!(!refusal.contains("s3cret"), "{refusal}");

    password.send_replace("s3cret");
    until_voting(&set[0], true).await;
    lock_once(&set).await;
    // A live connection is logged in with each new password.
    let logins = server.calls("auth");
    server.command(["ACL", "SETUSER", "me", ">s3cret2"]);
    password.send_replace("s3cret2");
    wait_until("the next login", || server.calls("auth"), |it| *it > logins).await;
    assert_eq!(reason(&set[0]), None);
}

#[tokio::test]
async fn its_certificates_are_those_of_a_pool() {
    let authority = Authority::new();
    let options = NodeOptions::default().tls(&authority);
    let server = RedisNode::start_with(options.wants_client_certificates()).await;
    let shown = authority.issue(&["worker"]);
    let certificates = TlsCertificates {
        client_tls: Some(ClientTlsConfig {
            client_cert: fs::read(&shown.certificate).unwrap(),
            client_key: fs::read(&shown.key).unwrap(),
        }),
        root_cert: Some(fs::read(authority.ca()).unwrap()),
    };
    let own = Client::build_with_tls(server.url(), certificates).unwrap();
    let config = Config::new().node_timeout(SOON).connect_timeout(SOON);
    let config = config.pool_with("a", &own, None);
    assert!(!format!("{config:?}").contains("BEGIN"));
    let twice = config.clone().pool("b", server.url());
    let refusal = Redlock::start(twice).await.map(|_| ()).unwrap_err();
    assert!(refusal.to_string().contains("are one server"), "{refusal}");

    let redlock = Redlock::start(config).await.unwrap();
    let registry = redlock.registry().clone();
    let work = async { lock("r").acquire().await.unwrap().release().await };
    registry.scope(work).await;
    redlock.shutdown().await;
}
