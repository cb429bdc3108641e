//! What readers and writers are answered by an in-process node is what a real server answers, and both
//! are left in the same state: the same operations, drawn at random, are put to both.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redlock_core::node::{
    Answer, HINT_WINDOW, Holders, Operation, OwnerToken, READERS_MARKER, Sharing, SharingKeys, Want,
};
use redlock_core::redis::RedisAddress;
use redlock_core::request::Kind;
use redlock_core::testing::ask;
use redlock_core::{MemoryNode, Node, RedisNode, Resource};
use redlock_simulation::random::{Random, SeededEntropy};
use redlock_tests::RedisNode as Server;

use crate::core::fixture::{IO, patient};
use crate::sharing::fixture::{INTENT, READERS, TURN};

const OPERATIONS: u64 = 1500;
const SEEDS: u64 = 6;
const COUNTER: &str = "redlock:fence:{r}";

/// Long enough that nothing expires by itself on a busy machine while a seed runs.
const LASTING: Duration = Duration::from_secs(3600);
/// How far two remaining times may be apart that were set one after the other.
const TOLERANCE: Duration = Duration::from_secs(30);

struct Pair {
    memory: MemoryNode,
    redis: RedisNode,
    server: Server,
    random: Random,
    tokens: Vec<OwnerToken>,
    keys: Arc<SharingKeys>,
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.expect("after 1970").as_micros()).expect("before the year 500000")
}

impl Pair {
    async fn start(seed: u64) -> Self {
        let server = Server::start().await;
        let address = RedisAddress::parse(&server.url()).expect("the harness makes good URLs");
        let redis = RedisNode::start("redis", address, patient(), &IO);
        redis.settled().await;
        let mut random = Random::new(seed);
        let entropy = SeededEntropy::new(random.fork());
        let tokens = (0..4)
            .map(|_| OwnerToken::draw("test/1", &entropy))
            .collect();
        Self {
            memory: MemoryNode::new("memory", IO.environment().clock),
            redis,
            server,
            random,
            tokens,
            keys: Arc::new(SharingKeys::beside(&"r".into(), b"")),
        }
    }

    fn token(&mut self) -> OwnerToken {
        let which = self.random.index(self.tokens.len());
        self.tokens[which].clone()
    }

    fn ttl(&mut self) -> Duration {
        LASTING + Duration::from_millis(self.random.below(4) * 600_000)
    }

    /// Near enough to both nodes' clocks that neither clamps it.
    fn hint(&mut self) -> u64 {
        let half = i64::try_from(HINT_WINDOW.as_micros() / 2).expect("a short window");
        now().saturating_add_signed(self.random.between(-half, half))
    }

    fn operation(&mut self) -> [Operation; 2] {
        let (token, ttl, hint) = (self.token(), self.ttl(), self.hint());
        let want = match self.random.below(16) {
            15 => return self.force_release(),
            0..=4 => Want::Acquire { ttl, hint },
            5 => Want::Confirm { counter: hint, ttl },
            6 | 7 => Want::Extend { ttl },
            8..=10 => Want::Restore { ttl },
            11 => Want::Inspect,
            _ => Want::Release { ttl },
        };
        let kind = self.random.pick(&[Kind::Read, Kind::Read, Kind::Write]);
        // Between its acquisition and its release, a writer's key is like that of any lock.
        let is_end = matches!(want, Want::Acquire { .. } | Want::Release { .. });
        let is_plain = self.random.below(6) == 0 || (kind == Kind::Write && !is_end);
        let is_fenced = match want {
            Want::Acquire { .. } | Want::Extend { .. } => self.random.below(2) == 0,
            want => matches!(want, Want::Confirm { .. }),
        };
        let intent = (self.random.below(3) > 0).then(|| self.token());
        let advice = self.random.pick(&[Duration::ZERO, LASTING]);
        let is_last = self.random.below(2) == 0;
        let sharing = Sharing::new(Arc::clone(&self.keys), kind);
        let sharing = sharing.intent(intent).advice(advice).last(is_last);
        let make = || {
            Operation::new(Resource::from("r"), token.clone(), want)
                .with_counters(is_fenced.then(|| COUNTER.into()))
                .with_sharing((!is_plain).then(|| sharing.clone()))
        };
        [make(), make()]
    }

    /// The tokens of some lose their keys.
    fn force_release(&mut self) -> [Operation; 2] {
        let count = self.random.index(3);
        let lost: Vec<_> = (0..count).map(|_| self.token()).collect();
        let token = self.token();
        let make = || {
            let keys = Resource::all(["r", READERS, INTENT]);
            let lost = lost.iter().map(|token| token.as_bytes().into());
            Operation::new(keys, token.clone(), Want::ForceRelease).with_holders(lost.collect())
        };
        [make(), make()]
    }

    /// Somebody else does something to a key, on both nodes.
    fn meddle(&mut self) {
        let name = self
            .random
            .pick(&["r", "r", INTENT, TURN, READERS, COUNTER]);
        let value = match name {
            "r" => self.random.pick(&[READERS_MARKER, b"foreign"]),
            TURN => self.random.pick(&[&b"turn"[..], b"waiting", b"other"]),
            INTENT => &b"somebody"[..],
            COUNTER => self.random.pick(&[&b"7"[..], b"nan", b"8999999999999999"]),
            _ => b"",
        };
        if value.is_empty() || self.random.below(2) == 0 {
            self.memory.delete(name.as_bytes());
            self.server.del(name);
        } else {
            let ttl = self.ttl();
            self.memory.put(name.as_bytes(), value, ttl);
            self.server.set(name, value, Some(ttl));
        }
    }

    /// A turn is over within a moment, and not at both at the same one: it is made to last, or ended.
    fn settle_turn(&mut self) {
        let turns = [self.memory.get(TURN.as_bytes()), self.server.get(TURN)];
        if turns.iter().flatten().all(|value| value != b"turn") {
            assert_eq!(turns[0], turns[1]);
            return;
        }
        if self.random.below(2) == 0 {
            self.memory.put(TURN.as_bytes(), b"turn", LASTING);
            self.server.set(TURN, "turn", Some(LASTING));
        } else {
            self.memory.delete(TURN.as_bytes());
            self.server.del(TURN);
        }
    }

    async fn run(&mut self, seed: u64) {
        for place in 0..OPERATIONS {
            if self.random.below(8) == 0 {
                self.meddle();
            }
            let [one, other] = self.operation();
            let (want, sharing) = (one.want(), one.sharing().cloned());
            let what = format!("operation {place} of seed {seed}: {one:?} {sharing:?}");
            let simulated = ask(&self.memory as &dyn Node, one).await;
            let real = ask(&self.redis as &dyn Node, other).await;
            assert!(
                are_alike(want, &simulated, &real),
                "{what}\nsimulated: {simulated:?}\n     real: {real:?}"
            );
            self.settle_turn();
            self.compare(&what);
        }
    }

    fn compare(&self, what: &str) {
        for name in ["r", INTENT, TURN, COUNTER] {
            let simulated = self.memory.get(name.as_bytes());
            assert_eq!(simulated, self.server.get(name), "{name}, {what}");
            let times = [
                self.memory.remaining(name.as_bytes()),
                self.server.pttl(name).left(),
            ];
            if let [Some(one), Some(two)] = times {
                assert!(one.abs_diff(two) < TOLERANCE, "{name}: {times:?}, {what}");
            }
        }
        let simulated = self.memory.readers(READERS.as_bytes());
        let real: Vec<(Vec<u8>, f64)> = self
            .server
            .try_command(["ZRANGE", READERS, "0", "-1", "WITHSCORES"])
            .expect("a sorted set");
        assert_eq!(simulated.len(), real.len(), "{what}: {real:?}");
        let time = Duration::from_micros(now()).as_secs_f64();
        for (token, left) in &simulated {
            let entry = real.iter().find(|(known, _)| known == token);
            let (_, ends) = entry.expect("the same reader");
            let apart = ends / 1000.0 - time - left.as_secs_f64();
            assert!(apart.abs() < TOLERANCE.as_secs_f64(), "{apart} s, {what}");
        }
    }
}

fn are_alike(want: Want, one: &Answer, two: &Answer) -> bool {
    match (one, two) {
        (Answer::Held(_), Answer::Held(_)) if want == Want::ForceRelease => {
            Holders::of(one) == Holders::of(two)
        }
        (Answer::Held(one), Answer::Held(two)) => {
            // A script that only compares does not say who it is.
            let is_same_owner = two.owner().is_none() || one.owner() == two.owner();
            is_same_owner && (one.obstacle() == two.obstacle() || two.owner().is_none())
        }
        (Answer::Failed(one), Answer::Failed(two)) => one.kind() == two.kind(),
        _ => one == two,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_in_process_node_serves_readers_and_writers_as_a_real_server_does() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        Pair::start(seed).await.run(seed).await;
    }
}
