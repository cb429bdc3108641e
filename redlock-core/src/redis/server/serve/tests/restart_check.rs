//! The restart check's verdicts on a server's answers.

use std::task::Wake;

use super::*;
use crate::redis::protocol::wire::decode;

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_take_the_marker_is_asked_now_and_then() {
    let checked_set = Arc::new(CheckedSet::new(
        RestartCheck::Standard,
        Duration::from_secs(1),
        1,
    ));
    let (_, clock) = still_clock();
    let server_check = ServerCheck::new(&node_log("a"), &checked_set, false, clock);
    let server_check = Arc::new(Mutex::new(server_check));
    server_check.lock().connected(Facts::of_role(false));
    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(crate::redis::RedisOptions::default());
    let (mut server, reader) = tokio::io::duplex(1 << 16);
    let socket = Arc::new(Socket::default());
    let mut serve = Serve::new(
        connected(reader, &socket),
        &inbox,
        &options,
        Some(&server_check),
    );
    look(&mut serve);
    for _ in 0..10 {
        let question = socket.take();
        assert!(question.contains("redlock:marker") && !question.contains("1 ? "));
        answer(&mut serve, &mut server, &checked(5_000, None)).await;
        assert!(
            socket.take().contains("1 ? 5000 opening 1000 6000"),
            "at once, what it is to be"
        );
        let before = Instant::now();
        answer(&mut serve, &mut server, &checked(5_000, None)).await;
        let NodeStatus::Abstaining(reason) = inbox.status() else {
            panic!("it votes");
        };
        assert!(
            reason.to_string().starts_with("its marker was not written"),
            "{reason}"
        );
        inbox.settled().await;
        while socket.0.lock().is_empty() {
            tokio::time::advance(Duration::from_millis(50)).await;
            look(&mut serve);
        }
        assert!(before.elapsed() >= Duration::from_millis(200));
    }
}

#[tokio::test(start_paused = true)]
async fn what_another_server_granted_counts_no_more_where_that_one_is_refused() {
    let checked_set = Arc::new(CheckedSet::new(
        RestartCheck::Standard,
        Duration::from_secs(1),
        2,
    ));
    let of = |run_id: &str| {
        let mut facts = Facts::of_role(false);
        facts.run_id = Some(run_id.to_owned());
        facts
    };
    let (_, clock) = still_clock();
    let server_check = ServerCheck::new(&node_log("a"), &checked_set, false, Arc::clone(&clock));
    let server_check = Arc::new(Mutex::new(server_check));
    let mut other = ServerCheck::new(&node_log("b"), &checked_set, false, clock);
    other.connected(of("theirs"));
    other.question();
    let blank = checked(5_000, None);
    let (blank_value, _) = decode(blank.as_bytes()).unwrap().unwrap();
    assert!(
        other
            .answer(&crate::redis::protocol::command::owned(&blank_value))
            .is_ok()
    );

    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(crate::redis::RedisOptions::default());
    let socket = Arc::new(Socket::default());
    server_check.lock().connected(of("ours"));
    {
        let (mut server, reader) = tokio::io::duplex(1 << 16);
        let mut serve = Serve::new(
            connected(reader, &socket),
            &inbox,
            &options,
            Some(&server_check),
        );
        look(&mut serve);
        answer(&mut serve, &mut server, &blank).await;
        let marked = checked(5_000, Some("1 ours 5000 new 1000 5000"));
        answer(&mut serve, &mut server, &marked).await;
        assert!(matches!(inbox.status(), NodeStatus::Voting));
        serve.end(lost("the address means another server now"));
    }
    server_check.lock().connected(of("theirs"));
    let (mut server, reader) = tokio::io::duplex(1 << 16);
    let mut serve = Serve::new(
        connected(reader, &socket),
        &inbox,
        &options,
        Some(&server_check),
    );
    look(&mut serve);
    let theirs = checked(5_000, Some("1 theirs 5000 new 1000 5000"));
    server.write_all(theirs.as_bytes()).await.unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let ended = Pin::new(&mut serve).poll(&mut context);
    assert!(
        matches!(ended, Poll::Ready(ConnectionEnd::Broken(error)) if error.kind() == NodeErrorKind::Refused)
    );
    assert_eq!(inbox.epoch(), 1);
}

/// A caller who asks again as soon as it is answered.
struct AsksAgain {
    inbox: Arc<Inbox>,
    io: IoThread,
    again: Mutex<Option<Arc<Round>>>,
}

impl Wake for AsksAgain {
    fn wake(self: Arc<Self>) {
        let round = submit(&self.inbox, &self.io, ACQUIRE);
        *self.again.lock() = Some(round);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_again_votes_at_once_and_behind_a_check() {
    let io = IoThread::start().unwrap();
    let ttl = Duration::from_secs(1);
    let checked_set = Arc::new(CheckedSet::new(RestartCheck::Standard, ttl, 1));
    let (_, clock) = still_clock();
    let server_check = ServerCheck::new(&node_log("a"), &checked_set, false, clock);
    let server_check = Arc::new(Mutex::new(server_check));
    server_check.lock().connected(Facts::of_role(false));
    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(crate::redis::RedisOptions::default());
    let (mut server, reader) = tokio::io::duplex(1 << 16);
    let socket = Arc::new(Socket::default());
    let connected = connected(reader, &socket);
    let mut serve = Serve::new(connected, &inbox, &options, Some(&server_check));
    look(&mut serve);
    answer(
        &mut serve,
        &mut server,
        &checked(5_000, Some("1 ? 5000 new 1000 5000")),
    )
    .await;
    assert!(matches!(inbox.status(), NodeStatus::Voting));

    let acquired = submit(&inbox, &io, ACQUIRE);
    look(&mut serve);
    tokio::time::advance(options.suspect_after).await;
    look(&mut serve);
    assert!(
        matches!(inbox.status(), NodeStatus::Abstaining(error) if error.kind() == NodeErrorKind::TimedOut)
    );
    socket.take();
    let caller = Arc::new(AsksAgain {
        inbox: Arc::clone(&inbox),
        io,
        again: Mutex::default(),
    });
    let waker = Waker::from(Arc::clone(&caller));
    let mut context = Context::from_waker(&waker);
    assert!(
        Pin::new(&mut acquired.decided())
            .poll(&mut context)
            .is_pending()
    );
    answer(&mut serve, &mut server, "$-1\r\n").await;
    let again = caller.again.lock().take().unwrap();
    assert!(again.answers() == [None], "{:?}", again.answers());
    let sent = socket.take();
    let (checked_at, set_at) = (sent.find("redlock:marker"), sent.find("SET\r\n$1"));
    assert!(checked_at.is_some() && checked_at < set_at, "{sent}");
    // Its clock stepped while it stood still.
    let stepped = checked(65_000, Some("1 ? 5000 new 1000 5000"));
    answer(&mut serve, &mut server, &(stepped + "$-1\r\n")).await;
    assert_eq!(inbox.epoch(), 1);
    assert!(
        matches!(&again.answers()[..], [Some(Vote::Failed(error))]
            if error.kind() == NodeErrorKind::Quarantined),
        "{:?}",
        again.answers(),
    );
}
