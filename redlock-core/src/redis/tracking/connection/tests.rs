//! A connection to a server played by the test, which also moves tokio's clock and the client's.

use std::pin::pin;
use std::task::Waker;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::*;
use crate::env::Clock;
use crate::env::io_thread::IoThread;
use crate::env::still_clock::{StillClock, still_clock};
use crate::model::resource::Resource;
use crate::node::{Call, Node, NodeSet, NodeStatus, Reply};
use crate::redis::address::Target;
use crate::redis::{RedisAddress, RedisOptions};
use crate::waiting::wakeup::QuorumWatch;

/// A node that only watches.
struct Spot(Arc<KeyTracking>);

impl Node for Spot {
    fn name(&self) -> &'static str {
        "spot"
    }

    fn submit(&self, _call: Arc<Call>, reply: Reply) {
        drop(reply);
    }

    fn drained(&self) -> bool {
        true
    }

    fn status(&self) -> NodeStatus {
        NodeStatus::Voting
    }

    fn watch(&self, watch: Watch) {
        self.0.watch(watch);
    }
}

struct Scene {
    tracking: Arc<KeyTracking>,
    nodes: NodeSet,
    still: Arc<StillClock>,
    clock: Arc<dyn Clock>,
}

impl Scene {
    /// Key tracking with the test in the place of its task.
    fn set(url: &str) -> Self {
        let io = IoThread::start().unwrap();
        let address = Arc::new(RedisAddress::parse(url).unwrap());
        let options = RedisOptions::default();
        let tracking = Arc::new(KeyTracking::new("a".into(), address, &options, io));
        tracking.state.lock().is_running = true;
        let (still, clock) = still_clock();
        Self {
            nodes: Arc::new([Arc::new(Spot(Arc::clone(&tracking))) as Arc<dyn Node>]),
            tracking,
            still,
            clock,
        }
    }

    fn tracked(&self) -> TrackedKeys {
        TrackedKeys::new(Arc::clone(&self.clock))
    }

    fn watch(&self, keys: impl Into<Resource>) -> QuorumWatch {
        QuorumWatch::begin(&self.clock, &self.nodes, &keys.into(), 1)
    }
}

/// A connection, and the server's end of it.
struct Line<'a> {
    connection: TrackingConnection<'a>,
    server: DuplexStream,
}

impl<'a> Line<'a> {
    fn new(scene: &'a Scene, tracked: &'a mut TrackedKeys) -> Self {
        let (server, stream) = tokio::io::duplex(1 << 16);
        let Target::Server(server_of) = &scene.tracking.address.target else {
            panic!("one server");
        };
        let connection =
            TrackingConnection::new(Box::new(stream), &server_of.login, &scene.tracking, tracked);
        Self { connection, server }
    }

    /// A connection that the server accepted.
    async fn open(scene: &'a Scene, tracked: &'a mut TrackedKeys) -> Self {
        let mut line = Self::new(scene, tracked);
        assert_eq!(line.sent(), "HELLO 3\nCLIENT TRACKING ON\n");
        assert_eq!(line.says("%1\r\n+proto\r\n:3\r\n+OK\r\n").await, "");
        line
    }

    /// Polls the connection. Returns the commands that it sent, one a line.
    fn sent(&mut self) -> String {
        let ended = self.look();
        assert!(ended.is_none());
        self.received()
    }

    fn received(&mut self) -> String {
        let mut bytes = BytesMut::new();
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Ok(1..)) = pin!(self.server.read_buf(&mut bytes)).poll(&mut context) {
        }
        let mut lines = String::new();
        let mut rest = &bytes[..];
        while let Some((Value::Array(words), length)) = decode_resp3(rest).unwrap() {
            let text = |word: &Value<'_>| match word {
                Value::Bulk(word) => String::from_utf8_lossy(word).into_owned(),
                other => panic!("{other:?}"),
            };
            let words: Vec<_> = words.iter().map(text).collect();
            lines += &(words.join(" ") + "\n");
            rest = &rest[length..];
        }
        lines
    }

    /// Sends `bytes` as the server. Returns the commands that the connection sent then.
    async fn says(&mut self, bytes: &str) -> String {
        self.server.write_all(bytes.as_bytes()).await.unwrap();
        self.sent()
    }

    fn look(&mut self) -> Option<TrackingEnd> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.connection).poll(&mut context) {
            Poll::Pending => None,
            Poll::Ready(ended) => Some(ended),
        }
    }
}

const INVALIDATE_R: &str = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nr\r\n";
const INVALIDATE_ALL: &str = ">2\r\n$10\r\ninvalidate\r\n_\r\n";
const URL: &str = "redis://localhost";

/// The moment at which a watch over one node is over, in ms on the client's clock.
fn due(watch: &QuorumWatch) -> Option<u128> {
    watch.due().map(|due| due.since_origin().as_millis())
}

#[tokio::test(start_paused = true)]
async fn the_user_and_the_database_are_those_of_the_url() {
    let scene = Scene::set("redis://locker:s3cret@localhost/3");
    let mut tracked = scene.tracked();
    let mut line = Line::new(&scene, &mut tracked);
    assert_eq!(
        line.sent(),
        "HELLO 3 AUTH locker s3cret\nSELECT 3\nCLIENT TRACKING ON\n"
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_is_asked_for_once_and_again_when_it_has_changed() {
    let scene = Scene::set(URL);
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    let watch = scene.watch("r");
    assert_eq!(line.sent(), "PTTL r\n");
    assert_eq!(line.says(":999\r\n").await, "");
    assert_eq!(due(&watch), Some(1000), "the last millisecond included");
    scene.still.advance(Duration::from_millis(100));
    assert_eq!(line.says(INVALIDATE_R).await, "PTTL r\n");
    assert_eq!(due(&watch), Some(1000), "nobody knows yet what it is now");
    assert_eq!(line.says(":1999\r\n").await, "");
    assert_eq!(due(&watch), Some(2100), "extended");
    assert_eq!(line.says(INVALIDATE_R).await, "PTTL r\n");
    assert_eq!(line.says(":-2\r\n").await, "");
    assert_eq!(due(&watch), Some(100), "released");
    assert_eq!(
        line.says(INVALIDATE_R).await,
        "PTTL r\n",
        "somebody took it"
    );
    line.says(":-1\r\n").await;
    assert_eq!(due(&watch), None, "and stays");
}

#[tokio::test(start_paused = true)]
async fn a_change_while_a_question_is_out_needs_no_other() {
    let scene = Scene::set(URL);
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    let watch = scene.watch("r");
    assert_eq!(line.sent(), "PTTL r\n");
    assert_eq!(line.says(INVALIDATE_R).await, "");
    assert_eq!(line.says(":-2\r\n").await, "");
    assert_eq!(due(&watch), Some(0));
    // The missing answer has come, so the next change raises a question again.
    assert_eq!(line.says(INVALIDATE_R).await, "PTTL r\n");
}

#[tokio::test(start_paused = true)]
async fn several_who_wait_for_a_key_share_what_is_known_of_it() {
    let scene = Scene::set(URL);
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    let one = scene.watch("r");
    assert_eq!(line.sent(), "PTTL r\n");
    line.says(":999\r\n").await;
    // A later caller was refused later, so it asks for itself.
    let two = scene.watch("r");
    assert_eq!(line.sent(), "PTTL r\n");
    line.says(":1999\r\n").await;
    assert_eq!([due(&one), due(&two)], [Some(2000); 2]);
    assert_eq!(line.says(INVALIDATE_R).await, "PTTL r\n", "once for both");
    line.says(":-2\r\n").await;
    assert_eq!([due(&one), due(&two)], [Some(0); 2]);
    drop(one);
    assert_eq!(line.says(INVALIDATE_R).await, "PTTL r\n");
    line.says(":-2\r\n").await;
    drop(two);
    assert_eq!(line.says(INVALIDATE_R).await, "", "nobody wants to know");
}

#[tokio::test(start_paused = true)]
async fn several_keys_are_free_when_all_are_gone_and_held_for_the_longest() {
    let scene = Scene::set(URL);
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    let watch = scene.watch(["q", "r", "s"]);
    assert_eq!(line.sent(), "PTTL q\nPTTL r\nPTTL s\n");
    line.says(":999\r\n:1999\r\n").await;
    assert_eq!(due(&watch), None, "one is not known yet");
    line.says(":499\r\n").await;
    assert_eq!(due(&watch), Some(2000));
    scene.still.advance(Duration::from_millis(10));
    assert_eq!(line.says(INVALIDATE_ALL).await, "PTTL q\nPTTL r\nPTTL s\n");
    line.says(":-2\r\n:-2\r\n").await;
    assert_eq!(due(&watch), Some(500));
    line.says(":-2\r\n").await;
    assert_eq!(due(&watch), Some(10));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_may_not_be_read_is_out_of_sight() {
    let scene = Scene::set(URL);
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    let watch = scene.watch("r");
    line.sent();
    assert_eq!(line.says("-NOPERM no\r\n").await, "");
    assert_eq!(due(&watch), None);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_refused_is_asked_for_again_while_somebody_waits() {
    let scene = Scene::set(URL);
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    let (one, two) = (scene.watch("r"), scene.watch("r"));
    let other = scene.watch("s");
    assert_eq!(line.sent(), "PTTL r\nPTTL r\nPTTL s\n");
    let loading = "-LOADING Redis is loading the dataset in memory\r\n";
    line.says(&loading.repeat(3)).await;
    drop(other);
    for _ in 0..3 {
        tokio::time::advance(ASKS_AGAIN.saturating_sub(Duration::from_millis(1))).await;
        assert_eq!(line.sent(), "");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(line.sent(), "PTTL r\n", "once for both");
        line.says(loading).await;
    }
    tokio::time::advance(ASKS_AGAIN).await;
    assert_eq!(line.sent(), "PTTL r\n");
    line.says(":-2\r\n").await;
    assert_eq!([due(&one), due(&two)], [Some(0); 2]);
    tokio::time::advance(ASKS_AGAIN * 2).await;
    assert_eq!(line.sent(), "");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_it_with_the_servers_words_and_without_the_password() {
    let scene = Scene::set("redis://locker:s3cret@localhost");
    let mut tracked = scene.tracked();
    let mut line = Line::new(&scene, &mut tracked);
    line.sent();
    let words = "-ERR unknown command 'HELLO', with args beginning with: '3' 's3cret'\r\n";
    line.server.write_all(words.as_bytes()).await.unwrap();
    assert!(
        matches!(line.look(), Some(TrackingEnd::Refused(reason)) if reason == "ERR unknown command 'HELLO'")
    );
}

#[tokio::test(start_paused = true)]
async fn it_is_closed_a_while_after_nobody_waits_and_not_before() {
    let scene = Scene::set(URL);
    let idle = scene.tracking.times.idle;
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    let watch = scene.watch("r");
    assert_eq!(line.sent(), "PTTL r\n");
    line.says(":-1\r\n").await;
    for _ in 0..40 {
        tokio::time::advance(idle / 10).await;
        // The connection sends a heartbeat now and then.
        if line.sent() == "TIME\n" {
            line.says("*0\r\n").await;
        }
    }
    drop(watch);
    let mut passed = Duration::ZERO;
    loop {
        tokio::time::advance(idle / 10).await;
        passed += idle / 10;
        match line.look() {
            None => assert!(passed <= idle * 5 / 4),
            Some(TrackingEnd::Idle) => break,
            Some(_) => panic!("it is alive"),
        }
        if line.received() == "TIME\n" {
            line.says("*0\r\n").await;
        }
    }
    assert!(passed >= idle * 3 / 4, "{passed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_is_given_up() {
    let scene = Scene::set(URL);
    let times = scene.tracking.times;
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    let watch = scene.watch("r");
    line.sent();
    line.says(":9999\r\n").await;
    tokio::time::advance(times.heartbeat).await;
    assert_eq!(line.sent(), "TIME\n");
    tokio::time::advance(times.dead_after.saturating_sub(Duration::from_millis(1))).await;
    assert_eq!(line.sent(), "");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(matches!(line.look(), Some(TrackingEnd::Broken(_))));
    drop(line);
    tracked.forget_answers();
    assert_eq!(due(&watch), Some(10_000), "the expiry stands");
    let mut line = Line::new(&scene, &mut tracked);
    assert_eq!(line.sent(), "HELLO 3\nCLIENT TRACKING ON\nPTTL r\n");
}

#[tokio::test(start_paused = true)]
async fn what_is_free_is_so_no_more_when_the_connection_is_lost() {
    let scene = Scene::set(URL);
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    let watch = scene.watch("r");
    line.sent();
    line.says(":-2\r\n").await;
    assert_eq!(due(&watch), Some(0));
    let Line { connection, server } = line;
    drop(server);
    let mut line = Line {
        connection,
        server: tokio::io::duplex(1).0,
    };
    assert!(matches!(line.look(), Some(TrackingEnd::Broken(_))));
    drop(line);
    tracked.forget_answers();
    assert_eq!(due(&watch), None);
}

#[tokio::test(start_paused = true)]
async fn those_who_went_away_are_forgotten() {
    let scene = Scene::set(URL);
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    for n in 0..1000 {
        drop(scene.watch(format!("r{n}")));
        let watch = scene.watch(format!("r{n}"));
        assert_eq!(line.sent(), format!("PTTL r{n}\n"));
        line.says(":9999\r\n").await;
        drop(watch);
        // Without it, tokio takes the test for a task that occupies its thread.
        tokio::task::yield_now().await;
    }
    drop(line);
    assert!(tracked.known() <= 64, "{}", tracked.known());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_node_is_the_end_of_it() {
    let scene = Scene::set(URL);
    let mut tracked = scene.tracked();
    let mut line = Line::open(&scene, &mut tracked).await;
    scene.tracking.end();
    assert!(matches!(line.look(), Some(TrackingEnd::Dropped)));
    let watch = scene.watch("r");
    assert_eq!(scene.tracking.state.lock().new.len(), 0);
    assert_eq!(due(&watch), None);
}
