//! Tests of reading a server's view of its Cluster.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::view::{Range, read as view};
use crate::node::Value;
use crate::node::hash_slot::SLOTS;
use crate::redis::address::Server;
use crate::redis::address::tests::server;
use crate::redis::latest_answer::DatedAnswer;

fn asked() -> Server {
    server("redis://u:pw@Seed:7001")
}

fn text(text: &str) -> Value {
    Value::text(text.as_bytes().to_vec())
}

fn list(parts: impl IntoIterator<Item = Value>) -> Value {
    Value::List(parts.into_iter().collect())
}

fn range(first: i64, last: i64, master: Value) -> Value {
    list([Value::Int(first), Value::Int(last), master])
}

fn read(slots: &Value) -> Vec<Range> {
    let told = view(&[text("cluster_current_epoch:1"), slots.clone()], &asked());
    told.map_or_else(|_| Vec::new(), |told| told.answer)
}

#[test]
fn masters_have_slots_and_names() {
    let master = |host, port, more| list([host, Value::Int(port), text("id"), more]);
    let replica = master(text("127.0.0.2"), 7002, list([]));
    let mut first = vec![Value::Int(0), Value::Int(5460)];
    first.extend([master(text(""), 7001, list([])), replica]);
    let ranges = read(&list([
        list(first),
        range(5461, 5461, master(text("::1"), 7003, list([]))),
        range(5462, 16_383, master(Value::Nil, 7004, list([]))),
    ]));
    let shown = ranges
        .iter()
        .map(|range| format!("{}-{} {}", range.first, range.last, range.master));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            "0-5460 seed:7001",
            "5461-5461 ::1:7003",
            "5462-16383 seed:7004"
        ]
    );
    assert!(ranges.iter().all(|it| it.id == "id"));
    assert_eq!(ranges[2].master.user(), "u", "as the server that told");
}

#[test]
fn what_makes_no_sense_is_no_view() {
    let master = || list([text("h"), Value::Int(1), text("id")]);
    for slots in [
        text("OK"),
        list([Value::Int(1)]),
        list([list([Value::Int(0), Value::Int(1)])]),
        list([range(2, 1, master())]),
        list([range(0, 16_384, master())]),
        list([range(-1, 1, master())]),
        list([range(0, 1, list([text("h"), Value::Int(1)]))]),
    ] {
        assert_eq!(read(&slots), [], "{slots:?}");
    }
    for host in ["?", "h\nerror: node b is down", "h\x1b[2J", "h g", "h`"] {
        let unreachable = list([text(host), Value::Int(1), text("id")]);
        assert_eq!(read(&list([range(0, 1, unreachable)])), []);
    }
    assert_eq!(read(&list([])), []);
}

#[test]
fn the_epoch_is_read_from_the_info() {
    let slots = list([range(0, 1, list([text("h"), Value::Int(1), text("id")]))]);
    let epoch = |info| view(&[info, slots.clone()], &asked()).unwrap().failover;
    let info = "cluster_state:ok\r\ncluster_current_epoch:12\r\n";
    assert_eq!(epoch(text(info)), 12);
    for info in [text("cluster_current_epoch:x"), Value::error("NOPERM no")] {
        assert_eq!(epoch(info), 0);
    }
}

/// Generates any reply, including nearly valid ones.
fn reply() -> impl Strategy<Value = Value> {
    let number = prop_oneof![-2..3_i64, 16_380..16_390_i64, any::<i64>()];
    let word = prop_oneof!["", "\\?", "ip", "h", "NOPERM", "[0-9]{1,6}"];
    let leaf = prop_oneof![
        number.prop_map(Value::Int),
        word.prop_map(|word| text(&word)),
        Just(Value::Nil),
        Just(Value::error("NOPERM no")),
    ];
    leaf.prop_recursive(4, 64, 6, |part| vec(part, 0..6).prop_map(list))
}

proptest! {
    #[test]
    fn no_reply_makes_it_panic(info in reply(), slots in reply(), first: i64, last: i64, master in reply()) {
        let with_range = list([range(first, last, master)]);
        for slots in [slots, with_range] {
            if let Ok(DatedAnswer { answer: ranges, .. }) = view(&[info.clone(), slots], &asked()) {
                for range in ranges {
                    prop_assert!(range.first <= range.last && range.last < SLOTS);
                }
            }
        }
    }
}
