//! The examples whose processes share files.

use std::fs;

use redlock_tests::{HttpReply, http_request};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::examples::assert_end_well;
use crate::services::fleet::Fleet;

/// The number of requests of each kind to each process.
const ROUNDS: usize = 20;

#[tokio::test]
async fn transfers_in_opposite_directions_lose_no_money() {
    let fleet = Fleet::start("transfer", 2, &[]).await;
    let account = |id: u32| fleet.nodes[0].dir().join(format!("account-{id}"));
    let balance = |id| fs::read_to_string(account(id)).unwrap().trim().to_owned();
    for id in [1, 2] {
        fs::write(account(id), "1000\n").unwrap();
    }
    let mut transfers = JoinSet::new();
    for service in &fleet.services {
        let addr = service.addr();
        for (from, to, cents) in [(1, 2, 3), (2, 1, 5)] {
            let body = format!(r#"{{"from": {from}, "to": {to}, "cents": {cents}}}"#);
            transfers.spawn(async move {
                for _ in 0..ROUNDS {
                    let reply = http_request(addr, "POST", "/transfers", &body)
                        .await
                        .unwrap();
                    assert_eq!(reply.status, 204, "{reply:?}");
                }
            });
        }
    }
    transfers.join_all().await;
    // Each process moves 3 one way and 5 the other way.
    assert_eq!([1, 2].map(balance), ["1080", "920"]);
    let too_much = r#"{"from": 1, "to": 2, "cents": 1081}"#;
    let refused = http_request(fleet.addr(), "POST", "/transfers", too_much)
        .await
        .unwrap();
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_end_well(&fleet).await;
}

#[tokio::test]
async fn readers_see_both_files_of_one_writer() {
    let fleet = Fleet::start("readers_writers", 2, &[]).await;
    let get = async |addr| http_request(addr, "GET", "/settings", "").await.unwrap();
    assert_eq!(get(fleet.addr()).await.status, 404);
    let put = async |addr, version: String| -> HttpReply {
        let body = format!(r#"{{"prices": "{version}", "limits": "{version}"}}"#);
        http_request(addr, "PUT", "/settings", &body).await.unwrap()
    };
    assert_eq!(put(fleet.addr(), "0".to_owned()).await.status, 204);
    let requests = fleet
        .services
        .iter()
        .enumerate()
        .map(|(process, service)| async move {
            let addr = service.addr();
            let writes = async {
                for round in 0..ROUNDS {
                    let reply = put(addr, format!("{process}-{round}")).await;
                    assert_eq!(reply.status, 204, "{reply:?}");
                }
            };
            let reads = async {
                for _ in 0..ROUNDS {
                    let reply = get(addr).await;
                    assert_eq!(reply.status, 200, "{reply:?}");
                    let settings: Value = serde_json::from_str(&reply.body).unwrap();
                    assert_eq!(settings["prices"], settings["limits"]);
                }
            };
            tokio::join!(writes, reads);
        });
    futures_util::future::join_all(requests).await;
    assert_end_well(&fleet).await;
}
