//! Tests of the values and the lives of counters.

use std::time::Duration;

use super::{PERIOD, USUAL_LIFE, raise_counters};
use crate::env::Moment;
use crate::node::WIRE_FORMAT;
use crate::node::store::Store;
use crate::quorum::fencing::COUNTER_IDLE;

const COUNTER: &[&[u8]] = &[b"counter"];
const NOW: Duration = Duration::from_secs(1_700_000_000);

fn store(found: Option<(&str, i64)>) -> Store {
    let mut store = Store::default();
    store.begin(Moment::from_origin(NOW), NOW);
    if let Some((text, ttl)) = found {
        store.set(COUNTER[0], text.as_bytes(), ttl).unwrap();
    }
    store.begin(Moment::from_origin(NOW), NOW);
    store
}

#[test]
fn the_script_reads_markers_of_this_wire_format() {
    let pattern = format!("'^{WIRE_FORMAT} (%d+)'");
    assert!(include_str!("counters.lua").contains(&pattern));
}

#[test]
fn the_script_has_the_period_and_the_usual_life() {
    let script = include_str!("counters.lua");
    assert!(script.contains(&format!("count % {}, ", PERIOD.as_micros())));
    assert!(script.contains(&format!("life <= {}\n", USUAL_LIFE.as_millis())));
}

#[test]
fn a_counter_raised_without_a_pause_lives_for_an_hour() {
    let mut store = store(None);
    let mut now = NOW;
    let life = USUAL_LIFE.as_millis().to_string();
    for step in 0..400 {
        now += Duration::from_secs(7 * (step % 5));
        store.begin(Moment::from_origin(now), now);
        let hint = store.micros().to_string();
        let numbers = [hint.as_bytes(), life.as_bytes(), b"1000000"];
        raise_counters(&mut store, COUNTER, 2, &numbers).unwrap();
        let left = u128::from(store.pttl(COUNTER[0]).unsigned_abs());
        assert!(left >= COUNTER_IDLE.as_millis(), "{left} after {step}");
    }
}

#[test]
fn no_call_shortens_the_life_of_a_counter() {
    let acquisition = [b"1700000000000000".as_slice(), b"1000", b"5000"];
    let extension = [b"7".as_slice(), b"1000"];
    for numbers in [&acquisition[..], &extension] {
        for text in ["6", "7"] {
            for (before, after) in [(9000, 9000), (10, 1000)] {
                let mut store = store(Some((text, before)));
                raise_counters(&mut store, COUNTER, 0, numbers).unwrap();
                assert_eq!(store.pttl(COUNTER[0]), after, "{text} {numbers:?}");
            }
        }
    }
}

#[test]
fn an_extension_that_raises_no_counter_writes_no_counter() {
    let mut full = store(Some(("7", 10)));
    full.fill(true);
    assert_eq!(
        raise_counters(&mut full, COUNTER, 0, &[b"7", b"1000"]).map(|it| it.count),
        Ok(7)
    );
    assert_eq!(full.pttl(COUNTER[0]), 1000);
    let mut empty = store(None);
    assert_eq!(
        raise_counters(&mut empty, COUNTER, 0, &[b"0", b"1000"]).map(|it| it.count),
        Ok(0)
    );
    assert!(!empty.exists(COUNTER[0]));
}
