//! Callers that lock and release for a while.

use std::time::{Duration, Instant};

use redlock_tests::Nodes;

use crate::clock::cpu_time;
use crate::contender::{Contender, Kind, RawLoop, Unlocked};
use crate::stats::{percentile, whole};

/// Every key of every run begins so.
pub const PREFIX: &str = "bench:";

/// The time after which a straggler's key counts as left.
const STRAGGLE: Duration = Duration::from_secs(3);

/// Callers, each with a key of its own, that lock and release one pair after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// The number of callers at once.
    pub callers: usize,
    /// The time before the measured part.
    pub warm_up: Duration,
    /// The measured part.
    pub run: Duration,
}

/// The figures of one run.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Pairs that began in the measured part and succeeded.
    pub pairs: usize,
    /// The number of these pairs a second.
    pub pairs_per_second: f64,
    /// The longest time of the faster half of the pairs.
    pub p50: Duration,
    /// The longest time of the fastest 99 % of the pairs.
    pub p99: Duration,
    /// The slowest pair.
    pub worst: Duration,
    /// Processor time of this process a pair, all threads together, the servers not counted. It
    /// depends less on what else the machine does than any of the others.
    pub cpu_a_pair: Duration,
    /// Pairs whose release was not confirmed in time, measured or not.
    pub unconfirmed: usize,
    /// Pairs that failed, measured or not.
    pub failures: usize,
    /// The text of the first failure.
    pub first_failure: Option<String>,
    /// Keys of this run that were still on a running node after it.
    pub left_behind: Vec<String>,
}

#[derive(Clone, Copy)]
struct Window {
    begin: Instant,
    end: Instant,
}

/// The pairs of a run so far.
#[derive(Default)]
pub(crate) struct Calls {
    latencies: Vec<Duration>,
    unconfirmed: usize,
    failures: usize,
    first_failure: Option<String>,
}

impl Load {
    /// Lets the callers loose on `contender`, and then looks at the nodes.
    pub(crate) async fn run(&self, kind: Kind, contender: &Contender, nodes: &Nodes) -> Sample {
        let mut sample = self.drive(kind, contender).await;
        sample.look_behind(nodes).await;
        sample
    }

    /// Lets the callers loose on `contender`. The nodes are still to be looked at, with
    /// [`Sample::look_behind`].
    async fn drive(&self, kind: Kind, contender: &Contender) -> Sample {
        let begin = Instant::now() + self.warm_up;
        let window = Window {
            begin,
            end: begin + self.run,
        };
        let keys = self.keys(kind.name()).into_iter();
        let callers: Vec<_> = keys
            .map(|key| tokio::spawn(again_and_again(contender.clone(), key, window)))
            .collect();
        tokio::time::sleep_until(begin.into()).await;
        let cpu_before = cpu_time();
        let mut all = Calls::default();
        for caller in callers {
            all.add(caller.await.expect("a caller that does not panic"));
        }
        let cpu = cpu_time().saturating_sub(cpu_before);
        all.into_sample(begin.elapsed(), cpu)
    }

    /// Lets the raw loop, which was connected for [`keys`](Self::keys), lock for all callers, on
    /// this thread. The nodes are still to be looked at.
    pub(crate) fn drive_raw(&self, raw: &mut RawLoop) -> Sample {
        let begin = Instant::now() + self.warm_up;
        let end = begin + self.run;
        let mut calls = Calls::default();
        let (mut last, mut cpu_before) = (Instant::now(), cpu_time());
        while last < end {
            if let Err(error) = raw.pairs() {
                calls.failures += 1;
                calls.first_failure = Some(error);
                break;
            }
            let done = Instant::now();
            if last >= begin {
                // All of them waited for so long.
                calls
                    .latencies
                    .extend((0..self.callers).map(|_| done - last));
            } else {
                cpu_before = cpu_time();
            }
            last = done;
        }
        let cpu = cpu_time().saturating_sub(cpu_before);
        calls.into_sample(begin.elapsed(), cpu)
    }

    /// The callers' keys.
    pub(crate) fn keys(&self, who: &str) -> Vec<String> {
        let key = |caller| format!("{PREFIX}{who}:{caller}");
        (0..self.callers).map(key).collect()
    }
}

async fn again_and_again(contender: Contender, key: String, window: Window) -> Calls {
    let mut calls = Calls::default();
    loop {
        let began = Instant::now();
        if began >= window.end {
            return calls;
        }
        let outcome = contender.pair(&key).await;
        calls.note(began, outcome, began >= window.begin);
    }
}

impl Sample {
    /// Notes the keys that are still on a node.
    pub(crate) async fn look_behind(&mut self, nodes: &Nodes) {
        self.left_behind = keys_left(nodes).await;
    }
}

/// Returns the benchmark's keys that are left on running nodes, once the stragglers have had time.
pub async fn keys_left(nodes: &Nodes) -> Vec<String> {
    let deadline = Instant::now() + STRAGGLE;
    loop {
        let mut left = nodes.all_keys();
        left.retain(|key| is_of_a_lock(&String::from_utf8_lossy(key)));
        if left.is_empty() || Instant::now() >= deadline {
            let shown = |key: &Vec<u8>| key.escape_ascii().to_string();
            return left.iter().map(shown).collect();
        }
        // Stragglers may be followed on this very runtime.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// True for a key that no lock may leave: also for one beside the lock's key, as of a permit or of readers.
/// Nodes remember how many permits there are, and the last fencing token.
fn is_of_a_lock(key: &str) -> bool {
    let remembered = ["redlock:permits:", "redlock:queue:", "redlock:fence:"];
    key.contains(PREFIX) && !remembered.iter().any(|prefix| key.starts_with(prefix))
}

impl Calls {
    /// Notes the outcome of a pair that began then, and its time if it is measured.
    pub(crate) fn note(
        &mut self,
        began: Instant,
        outcome: Result<Unlocked, String>,
        is_measured: bool,
    ) {
        match outcome {
            Ok(unlocked) => {
                if is_measured {
                    self.latencies.push(began.elapsed());
                }
                self.unconfirmed += usize::from(unlocked == Unlocked::Unconfirmed);
            }
            Err(error) => {
                self.failures += 1;
                self.first_failure.get_or_insert(error);
            }
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.unconfirmed += other.unconfirmed;
        self.failures += other.failures;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }

    pub(crate) fn into_sample(mut self, elapsed: Duration, cpu: Duration) -> Sample {
        self.latencies.sort_unstable();
        let pairs = self.latencies.len();
        let count = u32::try_from(pairs).unwrap_or(u32::MAX);
        Sample {
            pairs,
            pairs_per_second: whole(pairs) / elapsed.as_secs_f64(),
            p50: percentile(&self.latencies, 50),
            p99: percentile(&self.latencies, 99),
            worst: percentile(&self.latencies, 100),
            cpu_a_pair: cpu / count.max(1),
            unconfirmed: self.unconfirmed,
            failures: self.failures,
            first_failure: self.first_failure,
            left_behind: Vec::new(),
        }
    }
}
