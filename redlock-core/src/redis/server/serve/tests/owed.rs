//! Releases that the server answers with errors.

use super::*;

const TTL: Duration = Duration::from_secs(60);
const REFUSED: &str = "-NOREPLICAS Not enough good replicas to write.\r\n";

fn release(io: &IoThread) -> Operation {
    let token = TokenSource::new().fresh(&*io.environment().entropy);
    Operation::new(Resource::from("r"), token, Want::Release { ttl: TTL })
}

fn barrier(inbox: &Inbox, io: &IoThread) -> Arc<Round> {
    let round = Round::new(1, Goal::All);
    let reply = Reply::new(Arc::clone(&round), 0);
    let submission = Submission::barrier(Arc::new(release(io)), reply);
    assert!(inbox.deliver(submission).is_ok());
    round
}

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
    let round = submit_operation(&inbox, release(&io));
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
    submit_operation(&inbox, release(&io));
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
        submit_operation(&inbox, release(&io));
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
async fn a_barrier_fails_while_a_release_is_owed_which_is_tried_ahead_of_it() {
    let io = IoThread::start().unwrap();
    let (inbox, mut server, socket, mut serve) = served();
    let error = "-NOPERM No permissions to access a key\r\n";
    submit_operation(&inbox, release(&io));
    look(&mut serve);
    answer(&mut serve, &mut server, REFUSED).await;
    socket.take();

    let refused = barrier(&inbox, &io);
    look(&mut serve);
    assert_eq!(releases(&socket.take()), 2, "what is owed, and the barrier");
    answer(&mut serve, &mut server, &format!("{REFUSED}:-1\r\n")).await;
    assert_eq!(refused.tally().failed, 1);

    let passed = barrier(&inbox, &io);
    look(&mut serve);
    answer(&mut serve, &mut server, &format!(":1\r\n{error}")).await;
    assert_eq!(
        passed.answers(),
        [Some(Answer::Absent)],
        "everything is served"
    );
}

/// The release goes again behind the barrier, and its answer is not known yet.
#[tokio::test(start_paused = true)]
async fn a_barrier_fails_if_a_release_goes_again_behind_it() {
    let io = IoThread::start().unwrap();
    let again = [
        // The script was flushed.
        (1, FORGOTTEN.to_owned()),
        // One of two was served, so the other is tried again at once.
        (2, format!("{REFUSED}:1\r\n")),
    ];
    for (owed, answers) in again {
        let (inbox, mut server, socket, mut serve) = served();
        for _ in 0..owed {
            submit_operation(&inbox, release(&io));
            look(&mut serve);
            answer(&mut serve, &mut server, REFUSED).await;
        }
        socket.take();

        let refused = barrier(&inbox, &io);
        look(&mut serve);
        assert_eq!(releases(&socket.take()), owed + 1);
        answer(&mut serve, &mut server, &format!("{answers}:-1\r\n")).await;
        assert_eq!(releases(&socket.take()), 1, "one goes again");
        assert_eq!(refused.tally().failed, 1);

        let passed = barrier(&inbox, &io);
        look(&mut serve);
        assert_eq!(releases(&socket.take()), 1);
        answer(&mut serve, &mut server, ":1\r\n:-1\r\n").await;
        assert_eq!(passed.answers(), [Some(Answer::Absent)]);
    }
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
            submit_operation(&inbox, release(&io));
            look(&mut serve);
            socket.take();
            answer(&mut serve, &mut server, REFUSED).await;
        }
        serve.end(lost("the test says so"));
        assert!(inbox.owes(Instant::now()));
    }
}
