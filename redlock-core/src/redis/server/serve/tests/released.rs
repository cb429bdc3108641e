//! Releases by a command that not every server has.

use super::*;
use crate::redis::protocol::command::CompareAndDelete;

const TTL: Duration = Duration::from_secs(60);
const FORBIDDEN: &str = "-NOPERM User locker has no permissions to run the 'delifeq' command\r\n";
const UNKNOWN: &str = "-ERR unknown command 'DELIFEQ', with args beginning with: 'r'\r\n";
const KEY_FORBIDDEN: &str = "-NOPERM No permissions to access a key\r\n";

struct Scene {
    serve: Serve,
    server: DuplexStream,
    socket: Arc<Socket>,
    inbox: Arc<Inbox>,
    io: IoThread,
}

impl Scene {
    /// A connection to a server that has shown the command.
    fn set() -> Self {
        let inbox = Arc::new(Inbox::new("a".into(), 100));
        let options = Arc::new(RedisOptions::default());
        let (server, reader) = tokio::io::duplex(1 << 16);
        let socket = Arc::new(Socket::default());
        let mut connected = connected(reader, &socket);
        connected.release = Some(CompareAndDelete::DelIfEq);
        Self {
            serve: Serve::new(connected, &inbox, &options, None),
            server,
            socket,
            inbox,
            io: IoThread::start().unwrap(),
        }
    }

    fn release(&self) -> Arc<Round> {
        submit(&self.inbox, &self.io, Want::Release { ttl: TTL })
    }

    /// The commands that are sent, by their names.
    fn sent(&mut self) -> Vec<String> {
        look(&mut self.serve);
        let sent = self.socket.take();
        let names = ["DELIFEQ", "EVALSHA", "EVAL", "SET"];
        let words = sent.split("\r\n").filter(|word| names.contains(word));
        words.map(str::to_owned).collect()
    }

    async fn answer(&mut self, reply: &str) {
        answer(&mut self.serve, &mut self.server, reply).await;
    }

    fn owes(&self) -> bool {
        self.inbox.owes(Instant::now())
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_whose_command_is_refused_becomes_the_script_and_so_do_all_behind_it() {
    for refusal in [FORBIDDEN, UNKNOWN] {
        let mut scene = Scene::set();
        let rounds = [scene.release(), scene.release()];
        assert_eq!(scene.sent(), ["DELIFEQ", "DELIFEQ"]);
        scene.answer(":1\r\n").await;
        assert_eq!(rounds[0].tally().granted, 1);

        scene.answer(refusal).await;
        assert_eq!(rounds[1].tally().pending(), 1, "it is not over");
        assert_eq!(scene.sent(), ["EVAL"]);
        let behind = scene.release();
        assert_eq!(scene.sent(), ["EVALSHA"], "the refusal is remembered");
        scene.answer(":1\r\n:1\r\n").await;
        assert_eq!((rounds[1].tally().granted, behind.tally().granted), (1, 1));
        assert!(!scene.owes());
    }
}

#[tokio::test(start_paused = true)]
async fn all_commands_under_way_that_are_refused_become_scripts_behind_what_was_sent() {
    let mut scene = Scene::set();
    let releases = [scene.release(), scene.release(), scene.release()];
    let acquired = submit(&scene.inbox, &scene.io, Want::Acquire { ttl: TTL, hint: 0 });
    assert_eq!(scene.sent(), ["DELIFEQ", "DELIFEQ", "DELIFEQ", "SET"]);
    scene
        .answer(&format!("{}$-1\r\n", FORBIDDEN.repeat(3)))
        .await;
    assert_eq!(acquired.tally().granted, 1);
    assert_eq!(scene.sent(), ["EVAL", "EVAL", "EVAL"]);
    // The script is refused too. That is no reason to send it at once, again and again.
    scene.answer(&format!(":1\r\n{FORBIDDEN}{UNKNOWN}")).await;
    let tallies = releases.map(|release| (release.tally().granted, release.tally().failed));
    assert_eq!(tallies, [(1, 0), (0, 1), (0, 1)]);
    assert!(scene.sent().is_empty() && scene.owes());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(scene.sent(), ["EVALSHA", "EVALSHA"]);
    scene.answer(":1\r\n:1\r\n").await;
    assert!(!scene.owes());
}

#[tokio::test(start_paused = true)]
async fn a_release_that_the_script_would_not_serve_either_is_owed_and_keeps_the_command() {
    let mut scene = Scene::set();
    let round = scene.release();
    assert_eq!(scene.sent(), ["DELIFEQ"]);
    scene.answer(KEY_FORBIDDEN).await;
    assert_eq!(round.tally().failed, 1);
    assert!(scene.sent().is_empty() && scene.owes());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(scene.sent(), ["DELIFEQ"]);
    // An owed one falls back as well.
    scene.answer(UNKNOWN).await;
    assert_eq!(scene.sent(), ["EVAL"]);
    scene.answer(":1\r\n").await;
    assert!(!scene.owes());
}

#[tokio::test(start_paused = true)]
async fn a_command_that_is_under_way_at_the_end_of_the_connection_is_owed() {
    let mut scene = Scene::set();
    let rounds = [scene.release(), scene.release()];
    assert_eq!(scene.sent().len(), 2);
    // One is on its way again, as the script.
    scene.answer(FORBIDDEN).await;
    scene.serve.end(lost("the test says so"));
    let owed = scene.inbox.take_owed_batch(usize::MAX, Instant::now());
    assert_eq!(owed.len(), 2);
    assert_eq!(rounds.map(|round| round.tally().failed), [1, 1]);
}
