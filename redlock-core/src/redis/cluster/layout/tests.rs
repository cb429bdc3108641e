use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::redis::address::{RedisAddress, Target};
use crate::redis::protocol::wire::decode;

fn asked() -> Server {
    let scheme = if cfg!(feature = "tls") {
        "rediss"
    } else {
        "redis"
    };
    let url = format!("{scheme}://u:pw@Seed:7001");
    match RedisAddress::parse(&url).unwrap().target {
        Target::Server(server) => server,
        _ => unreachable!("one server"),
    }
}

fn read(bytes: &[u8]) -> Option<Layout> {
    let (value, length) = decode(bytes).expect("RESP2").expect("a whole reply");
    assert_eq!(length, bytes.len());
    Layout::read(&value, &asked())
}

#[test]
fn masters_replicas_and_names() {
    let id = "$2\r\nid\r\n";
    let reply = format!(
        "*3\r\n\
         *4\r\n:0\r\n:5460\r\n\
           *3\r\n$0\r\n\r\n:7001\r\n{id}*4\r\n$9\r\n127.0.0.2\r\n:7002\r\n{id}*0\r\n\
         *3\r\n:5461\r\n:5461\r\n\
           *4\r\n$1\r\n?\r\n:7003\r\n{id}*2\r\n$2\r\nip\r\n$3\r\n::1\r\n\
         *3\r\n:5462\r\n:16383\r\n\
           *4\r\n$-1\r\n:7004\r\n{id}*0\r\n",
    );
    let layout = read(reply.as_bytes()).unwrap();
    let ranges = layout.ranges.iter();
    let shown: Vec<_> = ranges
        .map(|range| format!("{}-{} {}", range.first, range.last, range.master))
        .collect();
    assert_eq!(
        shown,
        [
            "0-5460 seed:7001",
            "5461-5461 [::1]:7003",
            "5462-16383 seed:7004"
        ]
    );
    assert_eq!(layout.replicas[0].to_string(), "127.0.0.2:7002");
    assert_eq!(layout.ids.len(), 1);
    let asked = asked();
    let master = &layout.ranges[2].master;
    assert!(
        master.login == asked.login && master.tls.is_some() == cfg!(feature = "tls"),
        "as the server that told"
    );
}

#[test]
fn what_makes_no_sense_is_no_layout() {
    for bytes in [
        &b"+OK\r\n"[..],
        b"*1\r\n:1\r\n",
        b"*1\r\n*2\r\n:0\r\n:1\r\n",
        b"*1\r\n*3\r\n:2\r\n:1\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        b"*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n",
        b"*1\r\n*3\r\n:-1\r\n:1\r\n*2\r\n$1\r\nh\r\n:1\r\n",
    ] {
        assert_eq!(read(bytes), None, "{}", bytes.escape_ascii());
    }
    let nameless = b"*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\n?\r\n:1\r\n";
    assert_eq!(read(nameless), Some(Layout::default()));
    assert_eq!(read(b"*0\r\n"), Some(Layout::default()));
}

#[test]
fn health_is_read_from_the_info() {
    let health = ClusterHealth::read("cluster_state:ok\r\ncluster_current_epoch:12\r\n");
    assert_eq!(
        health,
        ClusterHealth {
            is_ok: true,
            epoch: 12
        }
    );
    assert_eq!(
        ClusterHealth::read("cluster_state:fail\r\n"),
        ClusterHealth::default()
    );
}

/// `n` masters with one slot each, with the addresses of `host`.
fn masters(n: usize, host: impl Fn(usize) -> String) -> Option<Layout> {
    let entries = (0..n).map(|slot| {
        let host = host(slot);
        format!(
            "*3\r\n:{slot}\r\n:{slot}\r\n*2\r\n${}\r\n{host}\r\n:1\r\n",
            host.len()
        )
    });
    read(format!("*{n}\r\n{}", entries.collect::<String>()).as_bytes())
}

#[test]
fn a_server_that_tells_of_more_masters_than_a_cluster_has_makes_no_sense() {
    let of = |n, different| masters(n, |slot| format!("h{}", slot % different));
    assert_eq!(
        of(MOST_MASTERS, MOST_MASTERS).unwrap().ranges.len(),
        MOST_MASTERS
    );
    assert_eq!(of(MOST_MASTERS + 1, MOST_MASTERS + 1), None);
    assert_eq!(
        of(16_384, 3).unwrap().ranges.len(),
        16_384,
        "but any number of ranges"
    );
}

#[test]
fn a_name_that_is_none_does_not_get_into_the_log() {
    for name in [
        "h\nerror: node b is down",
        "h\x1b[2J",
        "h g",
        "h`",
        &"h".repeat(256),
    ] {
        assert_eq!(server_at(name, 1, &asked()), None, "{name}");
        let layout = masters(1, |_| name.to_owned()).unwrap();
        assert!(layout.ranges.is_empty(), "{name}");
    }
    for name in ["h-1_a.example", "10.0.0.1", "fe80::1%eth0"] {
        assert!(server_at(name, 1, &asked()).is_some(), "{name}");
    }
}

/// Any reply, also a nearly valid one.
fn reply() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![-2..3_i64, 16_380..16_390_i64, any::<i64>()];
    let word =
        prop_oneof!["", "\\?", "ip", "h", "master", "[0-9]{1,6}"].prop_map(String::into_bytes);
    let word = prop_oneof![word, any::<Vec<u8>>()];
    let bulk = |word: Vec<u8>| {
        let head = format!("${}\r\n", word.len()).into_bytes();
        [&head, &word[..], b"\r\n"].concat()
    };
    let leaf = prop_oneof![
        number.prop_map(|number| format!(":{number}\r\n").into_bytes()),
        word.prop_map(bulk),
        Just(b"$-1\r\n".to_vec()),
    ];
    leaf.prop_recursive(4, 64, 6, |part| {
        vec(part, 0..6).prop_map(|parts| {
            let head = format!("*{}\r\n", parts.len()).into_bytes();
            [head, parts.concat()].concat()
        })
    })
}

proptest! {
    #[test]
    fn no_reply_makes_it_panic(bytes in reply(), first: i64, last: i64, text: String) {
        let master = b"*2\r\n$1\r\nh\r\n:1\r\n";
        let range = format!("*1\r\n*4\r\n:{first}\r\n:{last}\r\n").into_bytes();
        for bytes in [bytes.clone(), [&range, &master[..], &bytes].concat()] {
            if let Ok(Some((value, _))) = decode(&bytes)
                && let Some(layout) = Layout::read(&value, &asked())
            {
                for range in layout.ranges {
                    prop_assert!(range.first <= range.last && range.last < SLOTS);
                }
            }
        }
        ClusterHealth::read(&format!("cluster_state:{text}\r\ncluster_current_epoch:{first}\r\n"));
    }
}
