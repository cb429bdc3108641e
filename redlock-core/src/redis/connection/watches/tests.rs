//! Watches on a connection whose answers and messages the test makes.

use parking_lot::Mutex;
use std::task::Waker;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;
use crate::env::tests::still_clock;
use crate::io_thread::{IoThread, LibraryTime};
use crate::logging::NodeLog;
use crate::model::resource::Resource;
use crate::node::Remaining;
use crate::node::watch::ReportSink;
use crate::redis::address;
use crate::redis::connection::command::CallExtras;
use crate::redis::connection::connect::connect;
use crate::redis::connection::open::ConnectTo;
use crate::redis::connection::tests::{SOON, serve};
use crate::redis::inbox::{HugeKeys, Inbox};
use crate::redis::options::RedisOptions;

/// A key that lives for a minute.
const HELD: Value = Value::Int(60_000);
const GONE: Value = Value::Int(-2);

/// A caller that waits for keys, and the reports to it.
struct Caller {
    keys: Resource,
    is_wanted: Mutex<bool>,
    reports: Mutex<Vec<KeyReport>>,
}

impl ReportSink for Caller {
    fn keys(&self) -> &Resource {
        &self.keys
    }

    fn is_wanted(&self) -> bool {
        *self.is_wanted.lock()
    }

    fn record(&self, _: usize, report: KeyReport, _: Option<HeldValue>) -> Option<Waker> {
        self.reports.lock().push(report);
        None
    }
}

impl Caller {
    /// Returns the reports since the last call of this function: true for held keys, false for free ones.
    fn are_held(&self) -> Vec<bool> {
        let reports = std::mem::take(&mut *self.reports.lock());
        let is_held = |report| match report {
            KeyReport::Free => false,
            KeyReport::Held(Remaining::Expires(_)) => true,
            report => panic!("{report:?}"),
        };
        reports.into_iter().map(is_held).collect()
    }

    /// Drops the caller's watch.
    fn leave(&self) {
        *self.is_wanted.lock() = false;
    }
}

struct Scene {
    watches: Watches,
    messages: UnboundedSender<PushInfo>,
    pipe: CommandPipeline,
}

impl Scene {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        tokio::spawn(serve(listener));
        let place = address::tests::server(&format!("redis://{at}"));
        let io = IoThread::start().unwrap();
        let connected = connect(&place, false, b"", SOON, ConnectTo::First, &io).await;
        let opened = connected.expect("a connection").opened;
        let extras = CallExtras {
            marker: None,
            is_tried: true,
            huge: HugeKeys::default(),
        };
        let log = NodeLog::new("a".into(), still_clock().1);
        let (options, time) = (RedisOptions::default(), LibraryTime::default());
        let inbox = Arc::new(Inbox::new(log, options, Arc::default(), time));
        let (messages, received) = unbounded_channel();
        Self {
            watches: Watches::new(Some(received)),
            messages,
            pipe: CommandPipeline::new(opened, extras, &inbox, false),
        }
    }

    /// Adds a caller that waits for all of `keys`.
    fn wait_for(&mut self, keys: impl Into<Resource>) -> Arc<Caller> {
        let caller = Arc::new(Caller {
            keys: keys.into(),
            is_wanted: Mutex::new(true),
            reports: Mutex::default(),
        });
        let watch = Watch::new(Arc::clone(&caller) as _, 0);
        self.watches.add(&mut vec![Arc::new(watch)], &mut self.pipe);
        caller
    }

    /// Sends a message of the server that `key` has changed.
    fn change(&mut self, key: &str) {
        let names = Theirs::Array(vec![Theirs::BulkString(key.into())]);
        let (kind, data) = (PushKind::Invalidate, vec![names]);
        self.messages.send(PushInfo { kind, data }).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let taken = self.watches.take_messages(&mut context, &mut self.pipe);
        taken.expect("a connection");
    }

    /// Answers the oldest question, which is about `keys`.
    async fn answer<const N: usize>(&mut self, keys: [&str; N], left: [Value; N]) {
        let names = loop {
            match self.pipe.next().expect("a connection") {
                Some((Purpose::Watch(names), _)) => break names,
                Some(_) => panic!("it is no question about keys"),
                None => tokio::task::yield_now().await,
            }
        };
        let asked: Vec<_> = names.iter().map(|name| &**name).collect();
        assert_eq!(asked, keys.map(str::as_bytes));
        let ok = || Value::text(*b"OK");
        let each = left.map(|left| [ok(), left, Value::text(*b"holder")]);
        let answers = [ok()].into_iter().chain(each.into_iter().flatten());
        let answers = Value::List(answers.collect());
        self.watches.record_answer(&names, &answers, &self.pipe);
    }

    /// True if the server has answered each question.
    fn is_quiet(&self) -> bool {
        self.pipe.is_empty()
    }
}

#[tokio::test]
async fn a_later_caller_asks_about_changed_keys_alone() {
    let mut scene = Scene::new().await;
    for key in ["a", "b"] {
        scene.wait_for(key).leave();
        scene.answer([key], [HELD]).await;
    }
    let later = ["a", "b"].map(|key| scene.wait_for(key));
    for caller in &later {
        assert_eq!(caller.are_held(), [true]);
    }
    assert!(scene.is_quiet());
    scene.change("b");
    scene.answer(["b"], [GONE]).await;
    assert_eq!(
        [&later[0], &later[1]].map(|it| it.are_held()),
        [vec![], vec![false]]
    );
    assert!(scene.is_quiet());
}

#[tokio::test]
async fn a_change_while_nobody_waits_is_asked_about_later() {
    let mut scene = Scene::new().await;
    scene.wait_for("a").leave();
    scene.answer(["a"], [HELD]).await;
    scene.change("a");
    assert!(scene.is_quiet());
    let later = scene.wait_for("a");
    assert_eq!(later.are_held(), []);
    scene.answer(["a"], [HELD]).await;
    assert_eq!(later.are_held(), [true]);
}

#[tokio::test]
async fn a_key_that_was_free_before_is_asked_about_anew() {
    let mut scene = Scene::new().await;
    let earlier = scene.wait_for("a");
    scene.answer(["a"], [GONE]).await;
    assert_eq!(earlier.are_held(), [false]);
    earlier.leave();
    let later = scene.wait_for("a");
    assert_eq!(later.are_held(), []);
    scene.answer(["a"], [HELD]).await;
    assert_eq!(later.are_held(), [true]);
}

#[tokio::test]
async fn an_answer_to_an_earlier_question_tells_nobody() {
    let mut scene = Scene::new().await;
    let callers = [scene.wait_for("a"), scene.wait_for("a")];
    scene.answer(["a"], [GONE]).await;
    assert!(callers.iter().all(|caller| caller.are_held().is_empty()));
    scene.answer(["a"], [HELD]).await;
    assert!(callers.iter().all(|caller| caller.are_held() == [true]));
}

#[tokio::test]
async fn a_key_that_is_not_tracked_is_asked_about_anew() {
    let (ok, busy) = (Value::text(*b"OK"), Value::error("BUSY a script"));
    // A busy Valkey runs the second command, which fails without the first.
    let untracked = Value::error("ERR only in tracking mode");
    for answers in [[ok, busy.clone()], [busy, untracked]] {
        let mut scene = Scene::new().await;
        let earlier = scene.wait_for("a");
        let names = [Arc::from(*b"a")];
        scene.pipe.since = scene.pipe.now();
        let answers = Value::List(answers.into_iter().chain([HELD]).collect());
        scene.watches.record_answer(&names, &answers, &scene.pipe);
        assert_eq!(
            std::mem::take(&mut *earlier.reports.lock()),
            [KeyReport::Unknown]
        );
        let later = scene.wait_for("a");
        assert_eq!(later.are_held(), []);
        scene.answer(["a"], [HELD]).await;
        scene.answer(["a"], [HELD]).await;
        assert_eq!(later.are_held(), [true]);
    }
}

#[tokio::test]
async fn a_server_that_refuses_messages_is_asked_for_them_once() {
    for refusal in [
        "ERR unknown command 'CLIENT'",
        "NOPERM this user has no permissions",
        "unsupported command 'client'",
        "DENIED by the proxy",
    ] {
        let mut scene = Scene::new().await;
        let earlier = scene.wait_for("a");
        let answers = Value::List([Value::error(refusal), HELD].into());
        let names = [Arc::from(*b"a")];
        scene.watches.record_answer(&names, &answers, &scene.pipe);
        let later = scene.wait_for("a");
        for caller in [earlier, later] {
            let reports = std::mem::take(&mut *caller.reports.lock());
            assert_eq!(reports, [KeyReport::Unknown], "{refusal}");
        }
    }
}

#[tokio::test]
async fn several_keys_are_told_once_each_is_answered() {
    let mut scene = Scene::new().await;
    let one = scene.wait_for("a");
    let both = scene.wait_for(["a", "b"]);
    scene.answer(["a"], [GONE]).await;
    assert_eq!(both.are_held(), []);
    scene.answer(["a", "b"], [GONE, HELD]).await;
    assert_eq!(one.are_held(), [false]);
    assert_eq!(both.are_held(), [true]);
    scene.change("b");
    scene.answer(["b"], [GONE]).await;
    assert_eq!(both.are_held(), [false]);
    assert_eq!(scene.watches.take_all().len(), 2);
}

#[test]
fn a_key_whose_end_has_passed_is_not_known_to_be_held() {
    let now = Instant::now();
    let mut key = WatchedKey::new(now);
    assert!(key.set_asked(now));
    let answers = [Value::text(*b"OK"), Value::Int(99), Value::text(*b"holder")];
    assert!(key.record(&answers, now, now));
    let after = |millis| now + Duration::from_millis(millis);
    assert!(key.is_known_held(after(99)));
    assert!(!key.is_known_held(after(100)));
}
