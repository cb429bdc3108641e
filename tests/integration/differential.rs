//! The simulated node is worth what its store is worth: the same operations, drawn at random, are
//! put to it and to a real server, and have to be answered alike and leave the same behind.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redlock_core::node::{
    Answer, HINT_WINDOW, Holding, Operation, OwnerToken, PermitKey, Remaining, Want,
};
use redlock_core::redis::RedisAddress;
use redlock_core::request::Note;
use redlock_core::testing::ask;
use redlock_core::{IoThread, MemoryNode, Node, RedisNode, Resource};
use redlock_simulation::random::{Random, SeededEntropy};
use redlock_tests::{Pttl, RedisNode as Server};

use crate::core::fixture::patient;

/// Operations for each seed, and the seeds.
const OPERATIONS: u64 = 1000;
const SEEDS: u64 = 6;

/// Long enough that nothing expires by itself on a busy machine while a seed runs.
const LASTING: Duration = Duration::from_secs(3600);
/// How far two remaining times may be apart that were set one after the other.
const TOLERANCE: Duration = Duration::from_secs(30);

/// One world on two nodes.
struct Pair {
    io: IoThread,
    memory: MemoryNode,
    redis: RedisNode,
    server: Server,
    random: Random,
    tokens: Vec<OwnerToken>,
    seed: u64,
}

fn lock(number: u64) -> String {
    format!("lock:{number}")
}

fn counter(number: u64) -> String {
    format!("count:{number}")
}

fn run(number: u64) -> String {
    format!("run:{number}")
}

const NAMES: u64 = 3;

/// In µs.
const DAY: u64 = 24 * 60 * 60 * 1_000_000;

/// In µs, as counters are.
fn now() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    u64::try_from(now.as_micros()).expect("before the year 500000")
}

impl Pair {
    async fn start(seed: u64) -> Self {
        let io = IoThread::start().expect("a thread");
        let server = Server::start().await;
        let address = RedisAddress::parse(&server.url()).expect("the harness makes good URLs");
        let redis = RedisNode::start("redis", address, patient(), &io);
        redis.settled().await;
        let mut random = Random::new(seed);
        let entropy = SeededEntropy::new(random.fork());
        let mut tokens: Vec<_> = (0..4)
            .map(|_| OwnerToken::draw("test/1", &entropy))
            .collect();
        // The same but for the note is another token.
        let noted =
            ["job 7", "job 8"].map(|note| tokens[0].noted(&Note::new(note).expect("a text")));
        tokens.extend(noted);
        Self {
            memory: MemoryNode::new("memory", io.environment().clock),
            redis,
            server,
            random,
            tokens,
            io,
            seed,
        }
    }

    fn ttl(&mut self) -> Duration {
        LASTING + Duration::from_millis(self.random.below(4) * 600_000)
    }

    fn token(&mut self) -> OwnerToken {
        self.tokens[self.random.index(self.tokens.len())].clone()
    }

    fn operation(&mut self) -> Operation {
        let several = self.random.below(3) == 0;
        let count = if several {
            self.random.below(NAMES) + 1
        } else {
            1
        };
        let first = self.random.below(NAMES);
        let numbers: Vec<u64> = (first..first + count).map(|one| one % NAMES).collect();
        let keys = Resource::all(numbers.iter().map(|number| lock(*number)));
        let counters = Resource::all(numbers.iter().map(|number| counter(*number)));
        let token = self.token();
        let ttl = self.ttl();
        let hint = self.hint();
        if self.random.below(5) == 0 {
            return self.permit(token, ttl);
        }
        let want = match self.random.below(15) {
            0..=2 => Want::Acquire { ttl, hint },
            3 => Want::Confirm { counter: hint, ttl },
            4 | 5 => Want::Extend { ttl },
            6 => Want::Restore { ttl },
            7 => Want::Inspect,
            8 => Want::Remember {
                began: hint,
                ttl,
                longest: ttl + LASTING / 4,
            },
            9 | 10 => Want::Recall,
            11 => Want::Peek,
            _ => Want::Release { ttl },
        };
        let is_fenced = match want {
            Want::Acquire { .. } | Want::Extend { .. } => self.random.below(2) == 0,
            want => matches!(want, Want::Confirm { .. }),
        };
        let keys = match want {
            Want::Remember { .. } | Want::Recall => {
                Resource::all(numbers.iter().map(|number| run(*number)))
            }
            _ => keys,
        };
        Operation::new(keys, token, want).with_counters(is_fenced.then_some(counters))
    }

    /// An acquisition of one of the locks as a permit, in any order.
    fn permit(&mut self, token: OwnerToken, ttl: Duration) -> Operation {
        let mut numbers: Vec<u64> = (0..NAMES).collect();
        for left in (1..numbers.len()).rev() {
            numbers.swap(left, self.random.index(left + 1));
        }
        let key = |number: &u64| PermitKey {
            permit: u16::try_from(*number).expect("a few permits"),
            key: lock(*number).into_bytes().into(),
        };
        let permits = numbers.iter().map(key).collect();
        let keys = Resource::all((0..NAMES).map(lock));
        Operation::new(keys, token, Want::AcquirePermit { ttl }).with_permits(permits)
    }

    /// Near enough to both nodes' clocks that neither clamps it: their answers are equal then. Only
    /// where the machine stands still for half of the window, a node may have to.
    fn hint(&mut self) -> u64 {
        let half = i64::try_from(HINT_WINDOW.as_micros() / 2).expect("a short window");
        now().saturating_add_signed(self.random.between(-half, half))
    }

    /// Whether a node may have clamped the hint of `want`, which was served by now.
    fn is_left_behind(want: Want) -> bool {
        let window = u64::try_from(HINT_WINDOW.as_micros()).expect("a short window");
        match want {
            Want::Acquire { hint, .. } => hint < now().saturating_sub(window),
            _ => false,
        }
    }

    /// Lets the simulated node's counters stand where the real one's do.
    fn align_counters(&self) {
        for name in (0..NAMES).map(counter) {
            match (self.server.get(&name), self.server.pttl(&name).left()) {
                (Some(value), Some(left)) => self.memory.put(name.as_bytes(), &value, left),
                _ => self.memory.delete(name.as_bytes()),
            }
        }
    }

    /// Somebody else does something to a key, on both nodes.
    fn meddle(&mut self) {
        let name = match self.random.below(4) {
            0 => counter(self.random.below(NAMES)),
            1 => run(self.random.below(NAMES)),
            _ => lock(self.random.below(NAMES)),
        };
        if self.random.below(2) == 0 {
            self.memory.delete(name.as_bytes());
            self.server.del(&name);
        } else {
            let ahead = (now() + 2 * DAY).to_string();
            let values = ["7", "99999999999", "nan", "1e300", "foreign", "host/12/00"];
            let value = self.random.pick(&[&values[..], &[&*ahead]].concat());
            let ttl = self.ttl();
            self.memory.put(name.as_bytes(), value.as_bytes(), ttl);
            self.server.set(&name, value, Some(ttl));
        }
    }

    async fn run(&mut self) {
        for place in 0..OPERATIONS {
            if self.random.below(8) == 0 {
                self.meddle();
            }
            let operation = self.operation();
            let copy = Operation::new(
                operation.keys().clone(),
                operation.token().clone(),
                operation.want(),
            );
            let copy = copy
                .with_counters(operation.counters().cloned())
                .with_permits(operation.permits().to_vec());
            let what = format!("operation {place} of seed {}: {operation:?}", self.seed);
            let want = operation.want();
            let mut simulated = ask(&self.memory as &dyn Node, operation).await;
            let mut real = ask(&self.redis as &dyn Node, copy).await;
            if Self::is_left_behind(want) {
                // Each by its own clock.
                self.align_counters();
                simulated = without_number(simulated);
                real = without_number(real);
            }
            assert!(
                are_alike(&simulated, &real),
                "{what}\nsimulated: {simulated:?}\n     real: {real:?}"
            );
        }
        self.compare_keys();
    }

    fn compare_keys(&self) {
        let numbers = 0..NAMES;
        let names: Vec<String> = numbers
            .flat_map(|n| [lock(n), counter(n), run(n)])
            .collect();
        for name in &names {
            let simulated = self.memory.get(name.as_bytes());
            assert_eq!(
                simulated,
                self.server.get(name),
                "{name}, seed {}",
                self.seed
            );
            let left = self.memory.remaining(name.as_bytes());
            match (left, self.server.pttl(name)) {
                (Some(one), Pttl::Left(two)) => {
                    assert!(one.abs_diff(two) < TOLERANCE, "{name}: {one:?}, {two:?}");
                }
                (None, Pttl::Missing) => {}
                other => panic!("{name}, seed {}: {other:?}", self.seed),
            }
        }
        assert!(
            self.memory.keys().len() <= names.len(),
            "no key but these was made"
        );
    }
}

/// A grant with a number is one with another.
fn without_number(answer: Answer) -> Answer {
    match answer {
        Answer::Granted {
            counter: Some(_),
            epoch,
            permits,
        } => Answer::Granted {
            counter: Some(0),
            epoch,
            permits,
        },
        other => other,
    }
}

/// The same answer; remaining times as near as two clocks are.
fn are_alike(one: &Answer, two: &Answer) -> bool {
    match (one, two) {
        (Answer::Held(one), Answer::Held(two)) => are_alike_holdings(one, two),
        _ => one == two,
    }
}

/// The scripts of a real server do not say who holds a key, except the script that sets a key.
fn are_alike_holdings(one: &Holding, two: &Holding) -> bool {
    let is_same_time = match (one.remaining(), two.remaining()) {
        (Remaining::Expires(one), Remaining::Expires(two)) => one.abs_diff(two) < TOLERANCE,
        (one, two) => one == two,
    };
    // Of two permits that expire in the same millisecond, either may be named.
    let is_named = two.owner().is_some() && two.permits().is_none();
    let is_same_owner = !is_named || one.owner() == two.owner();
    let is_same_note = !is_named || one.note() == two.note();
    let is_same_place = one.place() == two.place();
    let is_same = is_same_owner && is_same_note && is_same_place;
    is_same_time && is_same && one.permits() == two.permits()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_simulated_store_answers_as_a_real_server_does() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        let mut pair = Pair::start(seed).await;
        pair.run().await;
        drop(pair.io);
    }
}
