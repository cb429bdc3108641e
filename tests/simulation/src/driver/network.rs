//! What is between a driver and the servers: connections, and everything late.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock_core::simulation::{Connecting, Network, Socket};
use tokio::time::sleep;

use crate::random::Random;

use super::lending::Runtimes;
use super::resp::take_command;
use super::town::{Connection, Outbox, Shared};
use super::wire::{ClientEnd, End, Pipe};

pub(super) struct Streets {
    pub(super) town: Shared,
    pub(super) runtimes: Arc<Runtimes>,
    /// The driver's own choices.
    pub(super) chance: Mutex<Random>,
}

impl Network for Streets {
    fn connect(&self, server: &str) -> Connecting {
        let (town, server) = (Arc::clone(&self.town), server.to_owned());
        let runtimes = Arc::clone(&self.runtimes);
        Box::pin(async move {
            let delay = {
                let mut town = town.lock().expect("no panic");
                let most = if town.is_calm || !town.random.chance(500) {
                    3_000
                } else {
                    2_000_000
                };
                Duration::from_micros(town.random.below(most))
            };
            sleep(delay).await;
            let pipe = connect(&town, &server)?;
            let end = ClientEnd {
                pipe,
                town,
                runtimes,
            };
            Ok(Socket(Arc::new(end)))
        })
    }

    fn random(&self) -> u64 {
        self.chance.lock().expect("no panic").next()
    }
}

fn connect(shared: &Shared, server: &str) -> io::Result<Arc<Pipe>> {
    let mut town = shared.lock().expect("no panic");
    if !town.hosts.get(server).is_some_and(|host| host.is_up) {
        town.count("not connected");
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    town.count("connected");
    town.made += 1;
    let id = town.made;
    town.tell(|| format!("#{id} to {server}"));
    let pipe = Pipe::new(town.random.fork(), id);
    let outbox = Arc::new(Outbox::default());
    let connection = Connection {
        host: server.to_owned(),
        pipe: Arc::clone(&pipe),
        outbox: Arc::clone(&outbox),
        is_tracking: false,
        is_subscribed: false,
        is_cut: false,
    };
    town.connections.insert(id, connection);
    let random = town.random.fork();
    drop(town);
    tokio::spawn(serve(Arc::clone(shared), id, Arc::clone(&pipe)));
    tokio::spawn(deliver(
        Arc::clone(shared),
        outbox,
        Arc::clone(&pipe),
        random,
    ));
    Ok(pipe)
}

/// The server's side: reads commands and serves them.
async fn serve(shared: Shared, id: u64, pipe: Arc<Pipe>) {
    let mut input = Vec::new();
    while let Some(read) = pipe.read().await {
        input.extend(read);
        pipe.set_unserved(input.len());
        let latency = {
            let mut town = shared.lock().expect("no panic");
            match town.random.below(8) {
                0..5 => 0,
                _ => town.random.below(2_000),
            }
        };
        if latency > 0 {
            sleep(Duration::from_micros(latency)).await;
        }
        loop {
            wait_for_host(&shared, id).await;
            let mut town = shared.lock().expect("no panic");
            if town.connections[&id].is_cut {
                pipe.forget();
                return;
            }
            match take_command(&mut input) {
                Ok(None) => break,
                Ok(Some(words)) => {
                    town.serve(id, &words);
                    pipe.set_unserved(input.len());
                }
                Err(problem) => {
                    let problem = format!("VIOLATION the driver sent nonsense: {problem}");
                    town.tell(|| problem.clone());
                    town.count("nonsense");
                    return;
                }
            }
        }
    }
    if !input.is_empty() {
        shared.lock().expect("no panic").count("half-written");
    }
}

/// A server that hangs does so to everybody.
async fn wait_for_host(shared: &Shared, id: u64) {
    loop {
        let left = {
            let town = shared.lock().expect("no panic");
            let host = &town.hosts[&town.connections[&id].host];
            host.hangs_until.saturating_sub(town.now())
        };
        if left == 0 {
            return;
        }
        sleep(Duration::from_micros(left)).await;
    }
}

/// What servers say arrives in their order, when it is due, in pieces.
async fn deliver(shared: Shared, outbox: Arc<Outbox>, pipe: Arc<Pipe>, mut random: Random) {
    loop {
        let next = outbox
            .queue
            .lock()
            .expect("no panic")
            .front()
            .map(|(due, _)| *due);
        let Some(due) = next else {
            if pipe.is_left() {
                return;
            }
            outbox.news.notified().await;
            continue;
        };
        let left = due.saturating_sub(shared.lock().expect("no panic").now());
        if left > 0 {
            sleep(Duration::from_micros(left)).await;
            continue;
        }
        let (_, bytes) = outbox
            .queue
            .lock()
            .expect("no panic")
            .pop_front()
            .expect("the one");
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(random.part_of(rest.len()));
            pipe.deliver(part);
            rest = behind;
            if !rest.is_empty() {
                sleep(Duration::from_micros(random.below(1_500))).await;
            }
        }
    }
}

/// The client loses the connection. The server may go on reading what was written.
pub(super) fn break_off(shared: &Shared, id: u64, end: End, is_heard: bool) {
    let mut town = shared.lock().expect("no panic");
    town.tell(|| format!("#{id} ends: {end:?}, what is on its way is served: {is_heard}"));
    let connection = town.connections.get_mut(&id).expect("it is there");
    connection.is_cut = !is_heard;
    let pipe = Arc::clone(&connection.pipe);
    drop(town);
    pipe.end(end);
}
