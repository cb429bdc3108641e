//! The watchdog when a connection goes from one runtime to another. The test polls both runtimes by hand.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use tokio::runtime::{Builder, Runtime};

use super::super::Serving;
use super::*;
use crate::redis::RedisOptions;
use crate::redis::connection::movable::Movable;

const SUSPECT_AFTER: Duration = Duration::from_millis(200);

struct Scene {
    io: IoThread,
    inbox: Arc<Inbox>,
    serving: Serving,
    server: UnixStream,
    /// The callers'.
    runtime: Runtime,
    /// The library's, whose clock the test moves.
    home: Runtime,
}

impl Scene {
    fn lent() -> Self {
        let mut home = Builder::new_current_thread();
        let home = home.enable_all().start_paused(true).build().unwrap();
        let inbox = Arc::new(Inbox::new("a".into(), 100));
        let (client, server) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        server.set_nonblocking(true).unwrap();
        let options = RedisOptions {
            suspect_after: SUSPECT_AFTER,
            ..RedisOptions::default()
        };
        let serving = {
            let _entered = home.enter();
            let socket = Movable::from(tokio::net::UnixStream::from_std(client).unwrap());
            let connected = Connected {
                stream: Box::new(socket.clone()),
                socket: Some(socket),
                allowed: Allowed {
                    joins: true,
                    ..Allowed::default()
                },
                facts: Facts::of_role(false),
            };
            Serving::new(Serve::new(connected, &inbox, &Arc::new(options), None))
        };
        let mut scene = Self {
            io: IoThread::start().unwrap(),
            inbox,
            serving,
            server,
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            home,
        };
        while !scene.inbox.is_lent() {
            let round = scene.submit();
            while round.tally().granted == 0 {
                scene.run_home();
                scene.run_callers();
                scene.answer();
            }
        }
        scene
    }

    /// From the callers' runtime.
    fn submit(&self) -> Arc<Round> {
        let _entered = self.runtime.enter();
        submit(&self.inbox, &self.io, ACQUIRE)
    }

    /// The library's thread has time for a few polls.
    fn run_home(&mut self) {
        let Self { home, serving, .. } = self;
        home.block_on(async {
            for _ in 0..4 {
                let poll = |context: &mut Context<'_>| {
                    let ended = Pin::new(&mut *serving).poll(context).is_ready();
                    assert!(!ended);
                    Poll::Ready(())
                };
                std::future::poll_fn(poll).await;
                tokio::task::yield_now().await;
            }
        });
    }

    fn run_callers(&self) {
        self.runtime.block_on(async {
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Answers what has arrived.
    fn answer(&mut self) {
        let mut bytes = [0; 4096];
        let count = self.server.read(&mut bytes).unwrap_or(0);
        let sets = bytes[..count].windows(4).filter(|it| it == b"SET\r");
        let answers = "$-1\r\n".repeat(sets.count());
        self.server.write_all(answers.as_bytes()).unwrap();
    }

    /// An operation that the callers' runtime has sent. The answer is there, and no runtime has looked since
    /// for longer than a node may take to answer.
    fn answered_while_all_stood_still(&mut self) -> Arc<Round> {
        let round = self.submit();
        self.run_callers();
        self.answer();
        self.home
            .block_on(tokio::time::advance(SUSPECT_AFTER + SUSPECT_AFTER / 10));
        assert!(self.inbox.is_lent() && round.tally().granted == 0);
        round
    }

    fn was_never_suspect(&self) {
        let last = self.home.block_on(async { self.inbox.health().last_error });
        assert!(last.is_none(), "{last:?}");
    }
}

#[test]
fn an_answer_that_the_library_finds_behind_a_loan_is_not_overdue() {
    let mut scene = Scene::lent();
    let round = scene.answered_while_all_stood_still();
    scene.run_home();
    assert_eq!(round.tally().granted, 1);
    scene.was_never_suspect();
}

#[test]
fn an_answer_that_the_callers_runtime_has_not_looked_for_is_not_overdue() {
    let mut scene = Scene::lent();
    let round = scene.answered_while_all_stood_still();
    scene.run_callers();
    scene.run_home();
    assert_eq!(round.tally().granted, 1);
    scene.was_never_suspect();
}

#[test]
fn a_node_that_does_not_answer_is_suspect_also_behind_a_loan() {
    let mut scene = Scene::lent();
    let round = scene.submit();
    scene.run_callers();
    for _ in 0..2 {
        scene.home.block_on(tokio::time::advance(SUSPECT_AFTER));
        scene.run_callers();
        scene.run_home();
    }
    assert!(!scene.inbox.is_lent());
    assert!(matches!(scene.inbox.status(), NodeStatus::Abstaining(_)));
    scene.answer();
    scene.run_home();
    assert_eq!(round.tally().granted, 1);
    assert!(matches!(scene.inbox.status(), NodeStatus::Voting));
}
