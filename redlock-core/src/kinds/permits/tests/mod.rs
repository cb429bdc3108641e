//! Permits: their keys, their order and their calls.

mod lines;
mod queue;
mod releases;

use std::time::Duration;

use super::AnyPermit;
use super::scripts::{STREAK, WAITS};
use crate::io_thread::IoThread;
use crate::kinds::tests::{other, token};
use crate::kinds::{Advice, Kind, ProtocolArgs};
use crate::model::note::Note;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::Effect;
use crate::node::hash_slot::slot_of;
use crate::quorum::lock_protocol::{LinePlace, LockProtocol as _};
use crate::request::Request;

fn permits(name: &str, count: u16, prefix: &str) -> AnyPermit {
    let prefix = prefix.as_bytes();
    let args = ProtocolArgs {
        keys: &Resource::from(name).with_prefix(prefix),
        prefix,
        is_fenced: false,
        advice: None,
    };
    AnyPermit::new(count, &args)
}

/// Returns the permits in the order in which nodes try them.
fn order(permits: &AnyPermit, token: &OwnerToken) -> Vec<u16> {
    let places = 0..permits.permits().unwrap();
    let chosen = places.map(|place| permits.choose_permit(token, place).unwrap());
    chosen.map(|permit| permit.permit().unwrap()).collect()
}

#[test]
fn permits_are_in_the_slot_of_the_lock_and_no_two_are_one() {
    let mut seen = Vec::new();
    for prefix in ["", "shop:", "{shop}:"] {
        for name in ["order:42", "{order}:42", "a{b}c", "x{"] {
            let keys = permits(name, 3, prefix).watched_keys();
            let plain = format!("{prefix}{name}");
            assert_eq!(keys[0], Resource::from(&*plain));
            for key in keys {
                let key = key.names().next().unwrap().to_vec();
                let shown = key.escape_ascii().to_string();
                assert_eq!(slot_of(&key), slot_of(plain.as_bytes()), "{shown}");
                seen.push(key);
            }
        }
    }
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

#[test]
fn the_order_follows_from_the_random_part_of_the_token() {
    let permits = permits("r", 256, "");
    let (one, two) = (token(), other());
    let mut first = order(&permits, &one);
    assert_eq!(first, order(&permits, &one));
    assert_ne!(first, order(&permits, &two));
    let noted = one.noted(&Note::new("nightly").unwrap());
    assert_eq!(first, order(&permits, &noted));
    first.sort_unstable();
    assert!(first.into_iter().eq(0..256));
}

#[test]
fn every_permit_is_as_likely_to_be_first_as_any_other() {
    let permits = permits("r", 4, "");
    let mut first = [0; 4];
    let io = IoThread::start().unwrap();
    for _ in 0..4000 {
        let token = OwnerToken::draw("web/1", &*io.environment().entropy);
        first[usize::from(order(&permits, &token)[0])] += 1;
    }
    // Each permit is expected first 1000 times, with a standard deviation of 27.
    let is_alike = first.iter().all(|count| (800..1200).contains(count));
    assert!(is_alike, "{first:?}");
}

#[test]
fn an_attempt_says_if_its_caller_waits_or_is_in_a_streak() {
    let permits = permits("r", 2, "");
    for (was_refused, is_in_streak, last) in [
        (false, false, "0"),
        (true, false, WAITS),
        (true, true, STREAK),
    ] {
        permits.prepare_attempt(LinePlace {
            was_refused,
            is_in_streak,
            ..LinePlace::default()
        });
        let call = permits.acquire_call(&token(), Duration::ZERO, 0);
        let said = call.arguments().last().unwrap();
        assert_eq!(said.as_bytes(), last.as_bytes());
    }
}

/// An owed record would arrive a second later, and move a client that waits again.
#[test]
fn no_node_owes_the_record_that_a_client_was_served() {
    let client = token();
    let args = ProtocolArgs {
        keys: &"r".into(),
        prefix: b"",
        is_fenced: false,
        advice: Some(Advice {
            client: &client,
            lasts: Duration::from_millis(600),
            call: Duration::from_millis(100),
        }),
    };
    let permits = AnyPermit::new(2, &args);
    assert!(permits.served_call().is_none(), "it did not wait");
    permits.prepare_attempt(LinePlace {
        was_refused: true,
        ..LinePlace::default()
    });
    assert_eq!(permits.served_call().unwrap().effect, Effect::Keeps);
}

#[test]
fn what_permits_cannot_have_is_refused_by_name() {
    let refusal = |change: fn(&mut Request)| {
        let mut request = Request::new("r").kind(Kind::Permits(4));
        change(&mut request);
        request.check().unwrap_err().to_string()
    };
    assert!(refusal(|r| r.kind = Kind::Permits(257)).contains("more than 256"));
    let both = refusal(|r| (r.kind, r.resource) = (Kind::Permits(0), Vec::<String>::new().into()));
    assert!(
        both.contains("empty list") && both.contains("`permits` of 0"),
        "{both}"
    );
    assert!(Request::new("r").kind(Kind::Permits(256)).check().is_ok());
    assert!(refusal(|r| r.fencing = true).contains("`fencing` with"));
    let several = refusal(|r| r.resource = ["a", "b"].into());
    assert!(several.contains("several resources"), "{several}");
    let job = refusal(|r| r.once_per = Some(Duration::from_secs(60)));
    assert!(job.contains("`once_per` with"), "{job}");
}
