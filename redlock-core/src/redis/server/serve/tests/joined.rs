//! Releases that are sent in one call.

use super::*;
use crate::redis::protocol::command::MOST_JOINED;

struct Scene {
    serve: Serve,
    server: DuplexStream,
    socket: Arc<Socket>,
    inbox: Arc<Inbox>,
    io: IoThread,
}

impl Scene {
    fn set() -> Self {
        let inbox = Arc::new(Inbox::new("a".into(), 10_000));
        let options = Arc::new(RedisOptions::default());
        let (server, reader) = tokio::io::duplex(1 << 16);
        let socket = Arc::new(Socket::default());
        let serve = Serve::new(connected(reader, &socket), &inbox, &options, None);
        let mut scene = Self {
            serve,
            server,
            socket,
            inbox,
            io: IoThread::start().unwrap(),
        };
        look(&mut scene.serve);
        scene
    }

    fn token(&self) -> OwnerToken {
        fresh(&self.io)
    }

    fn submit(&self, token: &OwnerToken, make: Make) -> Arc<Round> {
        submit_call(&self.inbox, make(&Resource::from(token.short_id()), token))
    }

    /// Submits releases of locks of their own.
    fn release(&self, count: usize) -> Vec<(OwnerToken, Arc<Round>)> {
        let token = || self.token();
        let tokens = std::iter::repeat_with(token).take(count);
        tokens
            .map(|token| {
                let round = self.submit(&token, RELEASE);
                (token, round)
            })
            .collect()
    }

    /// The numbers of keys of the script calls that the driver writes.
    fn calls(&mut self) -> Vec<usize> {
        look(&mut self.serve);
        let written = self.socket.take();
        let words: Vec<_> = written.split("\r\n").collect();
        let is_call = |at: &usize| matches!(words[*at], "EVALSHA" | "EVAL");
        let calls = (0..words.len()).filter(is_call);
        calls.map(|at| words[at + 4].parse().unwrap()).collect()
    }

    async fn answer(&mut self, reply: &str) {
        answer(&mut self.serve, &mut self.server, reply).await;
    }
}

fn granted(rounds: &[(OwnerToken, Arc<Round>)]) -> Vec<usize> {
    let granted = rounds.iter().map(|(_, round)| round.tally().granted);
    granted.collect()
}

#[tokio::test(start_paused = true)]
async fn releases_that_are_neighbours_go_in_one_call() {
    let mut scene = Scene::set();
    let first = scene.release(3);
    let extended = scene.submit(&scene.token(), EXTEND);
    let second = scene.release(2);
    let two_keys = RELEASE(&Resource::all(["a", "b"]), &scene.token());
    let two_keys = submit_call(&scene.inbox, two_keys);
    let last = scene.release(1);
    assert_eq!(scene.calls(), [3, 1, 2, 2, 1]);
    scene.answer(":1\r\n:1\r\n$2\r\n0-\r\n:1\r\n:1\r\n").await;
    assert_eq!(granted(&first), [1; 3]);
    assert_eq!(granted(&second), [0; 2]);
    assert!(matches!(
        (&second[0].1.answers()[..], &second[1].1.answers()[..]),
        ([Some(Vote::Held(_))], [Some(Vote::Absent)])
    ));
    assert_eq!(extended.tally().granted, 1);
    assert_eq!((two_keys.tally().granted, granted(&last)), (1, vec![1]));
    assert_eq!(scene.calls(), [0; 0], "all are answered");

    let many = scene.release(2 * MOST_JOINED + 2);
    assert_eq!(scene.calls(), [MOST_JOINED, MOST_JOINED, 2]);
    scene.answer(&":1\r\n".repeat(3)).await;
    assert_eq!(granted(&many), [1; 2 * MOST_JOINED + 2]);
    assert_eq!(scene.inbox.health().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_goes_ahead_of_releases_of_other_keys_only() {
    let mut scene = Scene::set();
    let (mine, other) = (scene.token(), scene.token());
    let submit = |keys: &[&str], make: Make| {
        let keys = Resource::all(keys.iter().copied());
        submit_call(&scene.inbox, make(&keys, &scene.token()))
    };
    scene.submit(&mine, RELEASE);
    submit(&["free"], ACQUIRE);
    scene.submit(&other, RELEASE);
    submit(&["a", "b"], ACQUIRE);
    submit(&["last"], RELEASE);
    submit(&["last"], ACQUIRE);
    submit(&["last"], RELEASE);
    submit(&["end"], INSPECT);
    look(&mut scene.serve);
    let written = scene.socket.take();
    let words: Vec<_> = written.split("\r\n").collect();
    // Each command with its first key.
    let sent: Vec<_> = (0..words.len())
        .filter_map(|at| match words[at] {
            command @ ("SET" | "PTTL") => Some((command, words[at + 2])),
            command @ "EVALSHA" => Some((command, words[at + 6])),
            _ => None,
        })
        .collect();
    assert_eq!(
        sent,
        [
            ("SET", "free"),
            ("EVALSHA", mine.short_id()),
            ("EVALSHA", "a"),
            ("EVALSHA", "last"),
            ("SET", "last"),
            ("EVALSHA", "last"),
            ("PTTL", "end"),
        ]
    );
    assert!(written.contains(other.short_id()));
}

#[tokio::test(start_paused = true)]
async fn releases_of_a_call_that_failed_are_sent_by_themselves_and_owed_if_they_fail_too() {
    let mut scene = Scene::set();
    let rounds = scene.release(2);
    assert_eq!(scene.calls(), [2]);
    scene
        .answer("-NOPERM User locker has no permissions to run the 'mget' command\r\n")
        .await;
    assert_eq!(scene.calls(), [1, 1]);
    scene.answer(":1\r\n-OOM command not allowed\r\n").await;
    assert_eq!(granted(&rounds), [1, 0]);
    assert!(scene.inbox.owes(Instant::now()));
    tokio::time::advance(Duration::from_secs(601)).await;
    scene.release(2);
    assert_eq!(scene.calls()[..2], [1, 1], "no call on this connection");
}

#[tokio::test(start_paused = true)]
async fn after_an_error_that_refuses_each_release_calls_go_on() {
    let mut scene = Scene::set();
    scene.release(2);
    assert_eq!(scene.calls(), [2]);
    scene.answer("-BUSY a script is running\r\n").await;
    assert_eq!(scene.calls(), [1, 1]);
    scene.release(2);
    assert_eq!(scene.calls(), [2]);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_call_of_releases_is_sent_again_once_with_texts() {
    let mut scene = Scene::set();
    let rounds = scene.release(2);
    assert_eq!(scene.calls(), [2]);
    scene.answer(FORGOTTEN).await;
    look(&mut scene.serve);
    let written = scene.socket.take();
    assert_eq!(written.matches("\r\nEVAL\r\n").count(), 2, "{written}");
    scene.answer(&":1\r\n".repeat(2)).await;
    assert_eq!(granted(&rounds), [1; 2]);
    for command in ["EVAL", "EVALSHA"] {
        scene.release(2);
        look(&mut scene.serve);
        let written = scene.socket.take();
        assert!(written.contains(&format!("\r\n{command}\r\n")), "{written}");
        scene.answer(":1\r\n").await;
    }
    assert_eq!(scene.inbox.health().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn releases_of_a_connection_that_breaks_are_owed() {
    let mut scene = Scene::set();
    let rounds = scene.release(2);
    assert_eq!(scene.calls(), [2]);
    scene.serve.abandon();
    for (_, round) in rounds {
        assert_eq!(round.tally().failed, 1);
    }
    assert_eq!(scene.inbox.take_owed_batch(9, Instant::now()).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn releases_that_are_kept_for_the_next_call_are_owed_if_the_connection_breaks() {
    let mut scene = Scene::set();
    let release = Arc::new(RELEASE(&Resource::from("r"), &scene.token()));
    let round = Round::new(1, Goal::All);
    let reply = Reply::new(Arc::clone(&round), 0, &release);
    let submission = Submission::new(release, reply);
    let now = Instant::now();
    assert!(scene.serve.keep(submission, now).is_none());
    scene.serve.abandon();
    assert_eq!(round.tally().failed, 1);
    assert_eq!(scene.inbox.take_owed_batch(9, now).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_asked_again_is_not_overdue() {
    let part = RedisOptions::default().suspect_after * 3 / 4;
    let mut scene = Scene::set();
    scene.release(3);
    look(&mut scene.serve);
    tokio::time::advance(part).await;
    scene.answer(FORGOTTEN).await;
    tokio::time::advance(part).await;
    look(&mut scene.serve);
    assert!(!scene.serve.is_suspect, "it has answered since");
}

#[tokio::test(start_paused = true)]
async fn no_extension_is_sent_again_behind_a_call_that_ends_its_lock() {
    let mut scene = Scene::set();
    let tokens = [scene.token(), scene.token()];
    let extended = [0, 1].map(|at| scene.submit(&tokens[at], EXTEND));
    for token in &tokens {
        scene.submit(token, RELEASE);
    }
    assert_eq!(scene.calls(), [1, 1, 2]);
    scene.answer(&FORGOTTEN.repeat(2)).await;
    assert_eq!(scene.calls(), [0; 0]);
    assert!(extended.iter().all(|round| round.tally().failed == 1));
}
