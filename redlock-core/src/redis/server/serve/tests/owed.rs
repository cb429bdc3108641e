//! Releases that the server answers with errors.

use super::*;

const REFUSED: &str = "-NOREPLICAS Not enough good replicas to write.\r\n";

/// A connection, the server at its end, and what is written to it.
fn served() -> (Arc<Inbox>, tokio::io::DuplexStream, Arc<Socket>, Serve) {
    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(crate::redis::RedisOptions::default());
    let (server, reader) = tokio::io::duplex(1 << 20);
    let socket = Arc::new(Socket::default());
    let serve = Serve::new(connected(reader, &socket), &inbox, &options, None);
    (inbox, server, socket, serve)
}

fn releases(sent: &str) -> usize {
    sent.matches("\r\nEVAL").count()
}

/// Moves the clock until releases are sent. Returns the bytes, and the time that passed.
async fn sent_next(serve: &mut Serve, socket: &Socket) -> (String, Duration) {
    let before = Instant::now();
    loop {
        look(serve);
        let sent = socket.take();
        if releases(&sent) > 0 {
            return (sent, before.elapsed());
        }
        assert!(before.elapsed() < TTL, "nothing is sent");
        tokio::time::advance(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_answered_with_an_error_is_tried_again_until_it_is_served() {
    let io = IoThread::start().unwrap();
    let (inbox, mut server, socket, mut serve) = served();
    let round = submit(&inbox, &io, RELEASE);
    look(&mut serve);
    let first = socket.take();
    answer(&mut serve, &mut server, REFUSED).await;
    assert_eq!(round.tally().failed, 1, "its caller is told");

    let mut pauses = Vec::new();
    for _ in 0..8 {
        let (sent, pause) = sent_next(&mut serve, &socket).await;
        assert_eq!(sent, first);
        pauses.push(pause.as_millis());
        answer(&mut serve, &mut server, REFUSED).await;
    }
    assert!(pauses[0] <= 25 && pauses.is_sorted(), "{pauses:?}");
    assert!((990..=1010).contains(&pauses[7]), "{pauses:?}");

    sent_next(&mut serve, &socket).await;
    answer(&mut serve, &mut server, ":1\r\n").await;
    assert!(!inbox.owes(Instant::now()));
    tokio::time::advance(Duration::from_secs(5)).await;
    look(&mut serve);
    assert!(socket.take().is_empty());

    // The next release is tried again after a short pause.
    submit(&inbox, &io, RELEASE);
    look(&mut serve);
    socket.take();
    answer(&mut serve, &mut server, REFUSED).await;
    assert!(sent_next(&mut serve, &socket).await.1.as_millis() <= 25);
    // After the ttl there is nothing to release.
    answer(&mut serve, &mut server, REFUSED).await;
    tokio::time::advance(TTL).await;
    look(&mut serve);
    assert_eq!(releases(&socket.take()), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_releases_is_asked_about_a_few_of_them_a_pause() {
    const RELEASES: usize = 1000;
    let io = IoThread::start().unwrap();
    let (inbox, mut server, socket, mut serve) = served();
    for _ in 0..RELEASES {
        submit(&inbox, &io, RELEASE);
    }
    look(&mut serve);
    // The calls for many are refused, and then each release by itself.
    let mut sent = socket.take();
    for _ in 0..2 {
        answer(&mut serve, &mut server, &REFUSED.repeat(releases(&sent))).await;
        sent = socket.take();
    }
    for _ in 0..10 {
        sent = sent_next(&mut serve, &socket).await.0;
        assert!(releases(&sent) <= 128);
        answer(&mut serve, &mut server, &REFUSED.repeat(releases(&sent))).await;
    }
    // One release is refused each time; the others are served without another pause.
    sent_next(&mut serve, &socket).await;
    let recovered = Instant::now();
    answer(
        &mut serve,
        &mut server,
        &format!("{REFUSED}{}", ":1\r\n".repeat(127)),
    )
    .await;
    let mut taken = 127;
    while taken < RELEASES - 1 {
        let sent = releases(&socket.take());
        assert!(sent > 0, "{taken}");
        let is_last = taken + sent >= RELEASES;
        let refused = usize::from(is_last);
        taken += sent - refused;
        let replies = ":1\r\n".repeat(sent - refused) + &REFUSED.repeat(refused);
        answer(&mut serve, &mut server, &replies).await;
    }
    assert!(recovered.elapsed().is_zero());
    assert_eq!(
        releases(&socket.take()),
        1,
        "once more with those behind it"
    );
    answer(&mut serve, &mut server, REFUSED).await;
    assert!(releases(&socket.take()) == 0 && inbox.owes(Instant::now()));
}

#[tokio::test(start_paused = true)]
async fn a_node_is_drained_once_all_is_answered_and_no_release_is_owed() {
    let io = IoThread::start().unwrap();
    let (inbox, mut server, socket, mut serve) = served();
    look(&mut serve);
    assert!(inbox.drained());
    submit(&inbox, &io, RELEASE);
    submit(&inbox, &io, INSPECT);
    assert!(!inbox.drained(), "queued");
    look(&mut serve);
    assert!(!inbox.drained(), "unanswered");
    answer(&mut serve, &mut server, &format!("{REFUSED}:-2\r\n")).await;
    look(&mut serve);
    assert!(!inbox.drained(), "owed");
    socket.take();
    sent_next(&mut serve, &socket).await;
    assert!(!inbox.drained(), "sent again");
    answer(&mut serve, &mut server, FORGOTTEN).await;
    assert!(!inbox.drained(), "sent with its text");
    answer(&mut serve, &mut server, ":1\r\n").await;
    assert!(inbox.drained());
}

#[tokio::test(start_paused = true)]
async fn what_is_owed_outlives_the_connection() {
    let io = IoThread::start().unwrap();
    let inbox = Arc::new(Inbox::new("a".into(), 100));
    let options = Arc::new(crate::redis::RedisOptions::default());
    let socket = Arc::new(Socket::default());
    for is_under_way in [false, true] {
        let (mut server, reader) = tokio::io::duplex(1 << 16);
        let mut serve = Serve::new(connected(reader, &socket), &inbox, &options, None);
        look(&mut serve);
        if is_under_way {
            assert_eq!(releases(&socket.take()), 1, "first of all");
            answer(&mut serve, &mut server, REFUSED).await;
            sent_next(&mut serve, &socket).await;
        } else {
            submit(&inbox, &io, RELEASE);
            look(&mut serve);
            socket.take();
            answer(&mut serve, &mut server, REFUSED).await;
        }
        serve.end(lost("the test says so"));
        assert!(inbox.owes(Instant::now()));
    }
}
