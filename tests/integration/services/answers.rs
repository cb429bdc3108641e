//! What a caller is told who does not get the lock.

use crate::services::FRAMEWORKS;
use crate::services::fleet::{Fleet, charge, key, post};
use redlock_tests::{HttpReply, http_request};

const ORDER: u64 = 4711;

#[tokio::test]
async fn a_refused_caller_is_told_when_to_come_back_and_nothing_internal() {
    for example in FRAMEWORKS {
        let fleet = Fleet::start(example, 1, &[]).await;
        let _holder = fleet.hold(ORDER).await;

        let reply = post(fleet.addr(), &charge(ORDER)).await.unwrap();
        assert_eq!(reply.status, 423, "{example}: {reply:?}");
        // What is left of the holder's two minutes.
        let after = reply.header("retry-after").map(|it| it.parse().unwrap());
        assert!((Some(60)..=Some(120)).contains(&after), "{reply:?}");
        assert_problem(&reply);
        assert_tells_nothing_internal(&fleet, &reply);
    }
}

#[tokio::test]
async fn a_majority_of_dead_nodes_is_a_503_and_the_process_lives_on() {
    for example in FRAMEWORKS {
        let fleet = Fleet::start(example, 1, &[]).await;
        assert_eq!(post(fleet.addr(), &charge(1)).await.unwrap().status, 200);
        fleet.nodes[0].kill();
        assert_eq!(post(fleet.addr(), &charge(2)).await.unwrap().status, 200);
        fleet.nodes[2].kill();

        let reply = post(fleet.addr(), &charge(3)).await.unwrap();
        assert_eq!(reply.status, 503, "{example}: {reply:?}");
        assert_eq!(reply.header("retry-after"), Some("1"), "{example}");
        assert_problem(&reply);
        assert_tells_nothing_internal(&fleet, &reply);
        fleet.nodes.assert_no_lock_keys(crate::services::LONG).await;

        let health = http_request(fleet.addr(), "GET", "/healthz", "").await;
        assert_eq!(health.unwrap().status, 200, "{example}");
    }
}

fn assert_problem(reply: &HttpReply) {
    let media_type = reply.header("content-type");
    assert_eq!(media_type, Some("application/problem+json"), "{reply:?}");
    let status = format!(r#""status":{},"#, reply.status);
    assert!(reply.body.contains(&status), "{reply:?}");
}

/// The body and the headers name neither the key nor a node, nor the holder's host or process.
fn assert_tells_nothing_internal(fleet: &Fleet, reply: &HttpReply) {
    let mut internal = vec![
        key(ORDER),
        ORDER.to_string(),
        "127.0.0.1".into(),
        "redis".into(),
        "pool".into(),
    ];
    internal.extend(fleet.nodes.iter().map(|node| node.port().to_string()));
    // The owner token is `host/pid/random`; a process id alone may be in any number.
    for token in fleet.nodes.values_of(key(ORDER)).into_iter().flatten() {
        let token = String::from_utf8(token).expect("the token is text");
        let parts: Vec<_> = token.split('/').collect();
        internal.extend([
            parts[0].to_owned(),
            parts[..2].join("/"),
            parts[2].to_owned(),
        ]);
    }
    let text = format!("{:?} {}", reply.headers, reply.body).to_lowercase();
    for word in internal {
        assert!(!text.contains(&word.to_lowercase()), "{word}: {reply:?}");
    }
}
