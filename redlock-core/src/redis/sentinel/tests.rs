use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::redis::{RedisAddress, address};

use super::*;

// As it stands among the others, and so does the next one.
#[allow(clippy::unnecessary_wraps)]
fn at(host: &str, epoch: Option<u64>) -> Option<Result<Named, NodeError>> {
    let endpoint = Endpoint::Tcp(host.to_owned(), 6379);
    Some(Ok(Named { endpoint, epoch }))
}

#[allow(clippy::unnecessary_wraps)]
fn failed() -> Option<Result<Named, NodeError>> {
    Some(Err(not_connected("it was cut off")))
}

fn host(answers: &Answers) -> Option<String> {
    newest(answers).map(|named| named.endpoint.to_string())
}

#[test]
fn a_sentinel_that_was_cut_off_does_not_name_the_old_master() {
    let answers = vec![at("old", Some(3)), at("old", Some(3)), at("new", Some(4))];
    assert_eq!(host(&answers).as_deref(), Some("new:6379"));
    let answers = vec![at("old", None), at("new", Some(1))];
    assert_eq!(host(&answers).as_deref(), Some("new:6379"));
}

#[test]
fn of_equal_answers_the_first_sentinels_counts() {
    let answers = vec![failed(), at("10.0.0.1", Some(3)), at("redis-1", Some(3))];
    assert_eq!(host(&answers).as_deref(), Some("10.0.0.1:6379"));
    assert_eq!(host(&vec![failed(), None]), None);
}

#[test]
fn a_majority_that_names_a_master_is_enough() {
    assert!(!is_decided(&vec![at("a", None), failed(), None]));
    assert!(is_decided(&vec![at("a", None), None, at("b", Some(2))]));
    assert!(is_decided(&vec![at("a", None)]));
    assert!(!is_decided(&vec![at("a", None), None]));
}

#[test]
fn an_answer_is_a_host_and_a_port_or_nonsense() {
    let answer = |host: &'static str, port: &'static str| {
        let words = [host, port].map(|word| Value::Bulk(word.as_bytes()));
        match master_answer(&Value::Array(words.into())) {
            MasterAnswer::At(endpoint) => Some(endpoint.to_string()),
            _ => None,
        }
    };
    assert_eq!(answer("::1", "7001").as_deref(), Some("[::1]:7001"));
    assert_eq!(answer("Redis-1", "7001").as_deref(), Some("redis-1:7001"));
    for (host, port) in [
        ("", "7001"),
        ("h", "seven"),
        ("h", "70000"),
        ("h\nerror: node b is down", "7001"),
        ("h\x1b[2J", "7001"),
    ] {
        assert_eq!(answer(host, port), None);
    }
    assert!(matches!(master_answer(&Value::Nil), MasterAnswer::Unknown));
    assert!(matches!(
        master_answer(&Value::Int(1)),
        MasterAnswer::Nonsense
    ));
}

/// Sentinels at a port of this host.
async fn listener() -> (TcpListener, Sentinel) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis+sentinel://{}/shop", listener.local_addr().unwrap());
    match RedisAddress::parse(&url).unwrap().target {
        address::Target::Sentinel(sentinel) => (listener, sentinel),
        _ => unreachable!("a sentinel"),
    }
}

#[tokio::test]
async fn a_subscription_that_died_in_silence_is_made_anew() {
    let (listener, sentinel) = listener().await;
    let doubts = Arc::default();
    let _listening = Listening::to(&sentinel, &doubts, Duration::from_millis(50));
    let serving = async {
        let mut silent = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            // To the greeting, and to the subscription.
            for reply in ["*0\r\n", ":1\r\n"] {
                assert!(stream.read(&mut [0; 512]).await.unwrap() > 0);
                stream.write_all(reply.as_bytes()).await.unwrap();
            }
            // The connection stays open.
            silent.push(stream);
        }
    };
    let thrice = async {
        for _ in 0..3 {
            doubts.notified().await;
        }
    };
    tokio::select! {
        biased;
        () = serving => {}
        told = timeout(Duration::from_secs(20), thrice) => told.expect("other subscriptions"),
    }
}

#[test]
fn the_number_of_the_last_failover_is_among_what_a_sentinel_tells() {
    let words = ["name", "shop", "config-epoch", "7"].map(|word| Value::Bulk(word.as_bytes()));
    assert_eq!(epoch(&Value::Array(words.into())), Some(7));
    assert_eq!(epoch(&Value::Array(Vec::new())), None);
}
