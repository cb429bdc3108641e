//! The faults, and what they show. Nothing here says what is to come out.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use redis::cmd;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::caller::{Caller, Order};
use crate::generations::{self, Code, Setup};
use crate::servers::{LOOK, NOWHERE, Servers};
use crate::{Result, attempt};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Crash,
    CrashOfBoth,
    Failure,
    Refusal,
    Overrun,
    EqualTimes,
    Failover,
    NodeDown,
    NodeEmpty,
    Pause,
}

/// Each fault, the head of its column, and what happens.
#[rustfmt::skip]
pub(crate) const ALL: [(Fault, &str, &str); 10] = [
    (Fault::Crash, "crash", "A is killed before each of its commands, and in its body"),
    (Fault::CrashOfBoth, "crash of both", "the same, and the server is killed too, and restarts with its append-only file"),
    (Fault::Failure, "failed body", "A's body fails"),
    (Fault::Refusal, "refused caller", "B holds the lock; C tries, and stops before each of its commands"),
    (Fault::Overrun, "long body", "A's body takes longer than its ttl"),
    (Fault::EqualTimes, "equal times", "the clocks of A and B show one time when they lock"),
    (Fault::Failover, "failover", "the master dies before it has replicated A's lock"),
    (Fault::NodeDown, "node dead", "one server dies while the lock is free"),
    (Fault::NodeEmpty, "node empty", "a server restarts without its data while A holds the lock"),
    (Fault::Pause, "pause", "A stands still past its ttl, between its last check and its write"),
];

/// A ttl that passes while a scene waits for it.
const SHORT: Duration = Duration::from_millis(SHORT_MS);
const SHORT_MS: u64 = 300;

/// A ttl that does not pass in a scene.
const FULL: Duration = Duration::from_secs(120);

const KEY: &str = "account:7";

/// The measured effect of a fault: its mark in the table, a colon, and why.
type Found = Result<String>;

/// Takes one generation through all faults, each on servers of its own.
pub(crate) async fn all(generation: usize, home: &Path) -> Result<Vec<String>> {
    let mut row = Vec::new();
    for (fault, head, _) in ALL {
        let mut scene = Scene::start(generation, fault, home).await?;
        let found = match fault {
            Fault::Crash | Fault::CrashOfBoth => scene.crash(fault).await,
            Fault::Failure => scene.failure().await,
            Fault::Refusal => scene.refusal().await,
            Fault::Overrun => scene.overrun().await,
            Fault::EqualTimes => scene.equal_times().await,
            Fault::Failover => scene.failover().await,
            Fault::NodeDown => scene.node_down().await,
            Fault::NodeEmpty => scene.node_empty().await,
            Fault::Pause => scene.pause().await,
        };
        let name = generations::ALL[generation].name;
        row.push(found.map_err(|error| format!("{name}, {head}: {error}"))?);
    }
    Ok(row)
}

/// The servers and callers of one fault to one generation.
struct Scene {
    generation: usize,
    servers: Servers,
}

impl Scene {
    async fn start(generation: usize, fault: Fault, home: &Path) -> Result<Self> {
        let setup = generations::ALL[generation].setup;
        let mut servers = Servers::start(setup, home).await?;
        if setup == Setup::Replicated || fault == Fault::Failover && setup == Setup::Three {
            servers.add_replica(home).await?;
        }
        Ok(Self {
            generation,
            servers,
        })
    }

    /// Starts a caller that stops before its attempt.
    async fn caller(&self, order: &Order) -> Result<Caller> {
        Caller::start(self.generation, order, &self.servers.ports()).await
    }

    async fn caller_for(&self, ttl: Duration) -> Result<Caller> {
        self.caller(&Order::new(KEY, ttl)).await
    }

    async fn holder_for(&self, ttl: Duration) -> Result<Caller> {
        let mut caller = self.caller_for(ttl).await?;
        caller.enter().await?;
        Ok(caller)
    }

    /// Starts a caller that does not reach the last of three servers, so its majority is the first two.
    async fn caller_cut_off(&self) -> Result<Caller> {
        let mut ports = self.servers.ports();
        if ports.len() == 3 {
            // The first caller of all opens new nodes, and all three are in use.
            self.caller_for(FULL).await?;
            ports[2] = NOWHERE;
        }
        Caller::start(self.generation, &Order::new(KEY, FULL), &ports).await
    }

    async fn crash(&mut self, fault: Fault) -> Found {
        let mut crashes = Vec::new();
        for stops in 0.. {
            let order = Order::new(format!("account:{stops}"), SHORT);
            let mut a = self.caller(&order).await?;
            for stop in 1..=stops {
                a.step().await?;
                // On a slow machine a short ttl may be over before the body begins.
                while stop == 1 && a.has_ended() {
                    a.step().await?;
                }
            }
            if a.has_ended() {
                break;
            }
            let at = a.at.clone();
            drop(a);
            if fault == Fault::CrashOfBoth {
                self.servers.restart().await?;
            }
            let later = self.servers.now_ms()? + 2 * SHORT_MS;
            self.servers.pass(later).await?;
            if !self.caller(&order).await?.gets_in().await? {
                let left = self.pttl(&order.key)?;
                return Ok(format!(
                    "stuck: crashed {at}; PTTL says {left} after two ttls"
                ));
            }
            crashes.push(at);
        }
        if fault == Fault::CrashOfBoth && generations::ALL[self.generation].code == Code::Script {
            return self.crash_in_script().await;
        }
        Ok(format!("ok: crashed {}", crashes.join(", ")))
    }

    /// Kills the server while a copy of the script loops between its two commands.
    /// Some say that the key then stays without an expiry.
    async fn crash_in_script(&mut self) -> Found {
        let expire = "redis.call('PEXPIRE'";
        let script = generations::SCRIPT.replace(expire, &format!("while true do end {expire}"));
        let mut eval = cmd("EVAL");
        eval.arg(script).arg(1).arg(KEY).arg(SHORT_MS);
        let mut a = TcpStream::connect(("127.0.0.1", self.servers.ports()[0])).await?;
        a.write_all(&eval.get_packed_command()).await?;
        // While the script runs, the server answers other callers that it is busy.
        let is_busy = |error: &crate::Error| error.to_string().contains("BUSY");
        while !self.servers.now_ms().is_err_and(|error| is_busy(&error)) {
            sleep(LOOK).await;
        }
        self.servers.restart().await?;
        let left = self.pttl(KEY)?;
        let mark = if left == -1 { "stuck" } else { "ok" };
        Ok(format!("{mark}: crashed in the script; PTTL says {left}"))
    }

    /// Returns the ms until `key` ends; −1 if it never does; −2 if there is none.
    fn pttl(&self, key: &str) -> Result<i64> {
        self.servers.ask(cmd("PTTL").arg(key))
    }

    async fn failure(&self) -> Found {
        let mut a = self.holder_for(FULL).await?;
        a.finish("fail").await?;
        if self.caller_for(FULL).await?.gets_in().await? {
            return Ok("ok: a failed body releases, too".into());
        }
        Ok("waits: a failed body does not release".into())
    }

    /// Leaves a lock to its ttl. C and D stop before a command, B takes the lock, and C goes on: while B holds it, and
    /// after B's release.
    async fn refusal(&self) -> Found {
        let mut harms = BTreeMap::new();
        for is_held in [true, false] {
            for stops in 0.. {
                let key = format!("account:{is_held}:{stops}");
                self.leave_to_its_ttl(&Order::new(&key, SHORT)).await?;
                // Each has a ttl of its own, so the value shows whose expiry is there.
                let mut b = self.caller(&Order::new(&key, FULL)).await?;
                let mut c = self.caller(&Order::new(&key, FULL + SHORT)).await?;
                let mut d = self.caller(&Order::new(&key, FULL + 2 * SHORT)).await?;
                c.pass(stops).await?;
                d.pass(stops).await?;
                if !c.is_before() || !d.is_before() || !b.gets_in().await? {
                    break;
                }
                let at = c.at.clone();
                let of_b = self.servers.value(&key)?;
                if !is_held {
                    b.finish("end").await?;
                }
                let is_refused = !c.gets_in().await?;
                let of_c = self.servers.value(&key)?;
                let is_next_in = is_refused && d.gets_in().await?;
                let of_d = self.servers.value(&key)?;
                let harm = match (is_held, is_refused, is_next_in) {
                    (true, false, _) => "B+C",
                    (true, _, true) => "B+D",
                    (true, ..) if of_c != of_b => "pushed",
                    (false, true, false) if of_d.is_some() && of_d != of_c => "livelock",
                    (false, true, false) if of_d.is_some() => "waits",
                    _ => continue,
                };
                harms.entry(harm).or_insert(at);
            }
        }
        if harms.is_empty() {
            return Ok("ok: C changes nothing, wherever it stops".into());
        }
        let marks: Vec<_> = harms.keys().copied().collect();
        Ok(format!("{}: C stopped {harms:?}", marks.join(", ")))
    }

    /// Kills a holder in its body, and lets its time pass.
    async fn leave_to_its_ttl(&self, order: &Order) -> Result<()> {
        let mut a = self.caller(order).await?;
        a.enter().await?;
        let passed = self.servers.now_ms()? + SHORT_MS;
        drop(a);
        self.servers.pass(passed).await
    }

    /// Lets A's body wait past its ttl. B takes the lock, A's body ends, and C tries.
    async fn overrun(&self) -> Found {
        let mut a = self.holder_for(SHORT).await?;
        let _b = self.holder_for(FULL).await?;
        let is_a_inside = a.tell("look").await?;
        if is_a_inside {
            a.finish("end").await?;
        }
        let is_c_in = self.caller_for(FULL).await?.gets_in().await?;
        let found = match (is_a_inside, is_c_in) {
            (false, false) => "ok: A's body was cancelled at its deadline, before B came",
            (true, false) => "A+B: A's body went on beside B's",
            (_, true) => "A+B, B+C: A's body went on, and its release deleted B's lock",
        };
        Ok(found.into())
    }

    /// Stops the clocks of A, B and C at one time. A's body is done in time, and its release is late.
    async fn equal_times(&self) -> Found {
        let now = attempt::wall_clock_ms();
        let order = |ttl| Order {
            clock: Some(now),
            ..Order::new(KEY, ttl)
        };
        let mut a = self.caller(&order(FULL)).await?;
        a.enter().await?;
        let time: Result<u64> = self.servers.ask(cmd("GET").arg(KEY));
        if !time.is_ok_and(|time| time >= now) {
            return Ok("–: no server has a time of A's clock".into());
        }
        a.finish("end").await?;
        let mut a = self.caller(&order(SHORT)).await?;
        let mut b = self.caller(&order(FULL)).await?;
        let mut c = self.caller(&order(FULL)).await?;
        a.enter().await?;
        let passed = self.servers.now_ms()? + SHORT_MS;
        a.step().await?;
        self.servers.pass(passed).await?;
        if !b.gets_in().await? {
            return Ok("ok: B is refused until that time is over".into());
        }
        a.finish("go").await?;
        if c.gets_in().await? && b.tell("look").await? {
            return Ok("B+C: A's late release deleted B's lock".into());
        }
        Ok("ok: A's late release left B's lock alone".into())
    }

    async fn failover(&mut self) -> Found {
        if self.servers.replica.is_none() {
            return Ok("–: there is no replica".into());
        }
        // What the first caller leaves on the servers is replicated.
        let mut a = self.caller_cut_off().await?;
        self.servers.cut_replica_off().await?;
        a.enter().await?;
        self.servers.fail_over().await?;
        self.beside(a, "the new master").await
    }

    async fn node_empty(&mut self) -> Found {
        let mut a = self.caller_cut_off().await?;
        a.enter().await?;
        self.servers.restart_empty().await?;
        self.beside(a, "the restarted server").await
    }

    /// Lets B try while A's body runs.
    async fn beside(&self, mut a: Caller, server: &str) -> Found {
        let mut b = self.caller_for(FULL).await?;
        if !b.attempt().await? {
            return Ok(format!("ok: {server} lacks A's lock; B is {}", b.at));
        }
        if a.tell("look").await? {
            return Ok(format!("A+B: {server} lacks A's lock"));
        }
        Ok(format!("ok: {server} cancelled A's body before B came"))
    }

    async fn node_down(&mut self) -> Found {
        // The servers have been in use.
        self.holder_for(FULL).await?.finish("end").await?;
        if self.servers.replica.is_some() {
            self.servers.until_replicated().await?;
            self.servers.fail_over().await?;
        } else {
            self.servers.lose_one().await?;
        }
        if let Err(error) = self.servers.now_ms() {
            return Ok(format!("down: {error}"));
        }
        let mut a = self.holder_for(FULL).await?;
        if self.caller_for(FULL).await?.gets_in().await? {
            return Ok("A+B: the other servers let both in".into());
        }
        a.finish("end").await?;
        self.holder_for(FULL).await?;
        Ok("ok: the other servers let A in, and then the next one".into())
    }

    /// Lets A stand still between its last check and its write, inside one poll. B comes, writes and goes.
    async fn pause(&self) -> Found {
        let mut a = self.caller_for(SHORT).await?;
        // On a slow machine its time may be over before it is told.
        while !a.at.starts_with("writes ") {
            a.enter().await?;
            a.tell("write").await?;
        }
        let mut b = self.holder_for(FULL).await?;
        b.tell("write").await?;
        // The store refuses a token below the highest one that it has seen.
        let token = |caller: &Caller| caller.at.replace("writes ", "").parse::<u64>();
        let (of_a, of_b) = (token(&a)?, token(&b)?);
        b.finish("taken").await?;
        if of_a == 0 || of_a >= of_b {
            a.finish("taken").await?;
            return Ok("undone: the store took A's write after B's".into());
        }
        a.finish("refused").await?;
        Ok(format!("ok: the store refused A's {of_a} after B's {of_b}"))
    }
}
