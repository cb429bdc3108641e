//! The figures of one turn.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Hold, Log, Turn, overlap};
use crate::stats::{percentile, whole};

/// The figures of one contender's turn.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Acquisitions within the turn.
    pub acquisitions: usize,
    /// Their number in a second.
    pub per_second: f64,
    /// From a question to the end of the release, of half of the acquisitions.
    pub pair_p50: Duration,
    /// The same of 99 of 100.
    pub pair_p99: Duration,
    /// The longest of these times.
    pub pair_worst: Duration,
    /// The changes of the holding task in a second.
    pub switches_per_second: f64,
    /// The acquisitions of the worst task, by those of the best one.
    pub worst_to_best_task: f64,
    /// The same of processes.
    pub worst_to_best_process: f64,
    /// The least that a process had of its part of the permits: an equal part, or a permit for each of its tasks if
    /// that is less.
    pub least_part: f64,
    /// The longest time for which a permit was free while a task waited.
    pub longest_idle: Duration,
    /// The longest time between two acquisitions of one process.
    pub longest_away: Duration,
    /// The most tasks that had the key, or a permit, at once.
    pub most_at_once: usize,
    /// From a question to its acquisition, of half of them.
    pub wait_p50: Duration,
    /// The same of 99 of 100.
    pub wait_p99: Duration,
    /// The longest wait.
    pub wait_worst: Duration,
    /// The changes of the holding process, by the acquisitions.
    pub handed_over: f64,
    /// From the call of a release to when another process, which was waiting then, had the key.
    pub hand_overs: Vec<Duration>,
    /// The commands that the nodes served, all together, by the acquisitions.
    pub commands_an_acquisition: f64,
    /// Acquisitions that were given up.
    pub refused: usize,
    /// Releases that were not confirmed in time.
    pub unconfirmed: usize,
    /// Everything that no turn may have.
    pub problems: Vec<String>,
}

/// A hold, with the process that had it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    process: usize,
    hold: Hold,
}

impl AsRef<Hold> for Entry {
    fn as_ref(&self) -> &Hold {
        &self.hold
    }
}

impl Figures {
    /// Merges the logs of all processes. `served` is the number of commands that the nodes served.
    pub fn of(turn: &Turn, logs: &[Log], served: usize) -> Self {
        let mut entries = Vec::new();
        for (process, log) in logs.iter().enumerate() {
            entries.extend(log.holds.iter().map(|&hold| Entry { process, hold }));
        }
        entries.sort_by_key(|entry| entry.hold.acquired);
        let measured: Vec<Entry> = entries
            .iter()
            .filter(|entry| turn.window.contains(entry.hold.acquired))
            .copied()
            .collect();
        // Callers that waited since before the turn, or still waited after it, count as well. Otherwise an
        // implementation that lets some callers wait for ever would have the shortest waits.
        let mut waits: Vec<Duration> = entries
            .iter()
            .filter(|entry| entry.hold.acquired >= turn.window.begin)
            .map(|entry| Duration::from_nanos(entry.hold.acquired - entry.hold.asked))
            .collect();
        waits.sort_unstable();
        let mut pairs: Vec<Duration> = measured
            .iter()
            .map(|entry| Duration::from_nanos(entry.hold.released - entry.hold.asked))
            .collect();
        pairs.sort_unstable();
        let seconds = turn.window.length().as_secs_f64();
        let who = |entry: &Entry| (entry.process, entry.hold.task);
        let crowds = turn.crowds.iter().enumerate();
        let tasks =
            crowds.flat_map(|(process, &tasks)| (0..tasks).map(move |task| (process, task)));
        let of_each = counts(&measured, 0..logs.len(), |entry| entry.process);
        Self {
            acquisitions: measured.len(),
            per_second: whole(measured.len()) / seconds,
            pair_p50: percentile(&pairs, 50),
            pair_p99: percentile(&pairs, 99),
            pair_worst: percentile(&pairs, 100),
            switches_per_second: whole(changes(&measured, who)) / seconds,
            worst_to_best_task: worst_to_best(&counts(&measured, tasks, who)),
            worst_to_best_process: worst_to_best(&of_each),
            least_part: least_part(turn, &of_each),
            longest_idle: longest_idle(&entries, turn),
            longest_away: longest_away(&measured, turn),
            most_at_once: most_at_once(&entries),
            wait_p50: percentile(&waits, 50),
            wait_p99: percentile(&waits, 99),
            wait_worst: percentile(&waits, 100),
            handed_over: whole(changes(&measured, |entry| entry.process))
                / whole(measured.len().max(1)),
            hand_overs: hand_overs(&measured),
            commands_an_acquisition: whole(served) / whole(entries.len().max(1)),
            refused: logs.iter().map(|log| log.refused).sum(),
            unconfirmed: logs.iter().map(|log| log.unconfirmed).sum(),
            problems: problems(&entries, logs),
        }
    }
}

fn changes<K: PartialEq>(entries: &[Entry], who: impl Fn(&Entry) -> K) -> usize {
    let pairs = entries.windows(2);
    pairs.filter(|pair| who(&pair[0]) != who(&pair[1])).count()
}

/// Returns the acquisitions of each of `all`.
fn counts<K: Ord>(
    entries: &[Entry],
    all: impl Iterator<Item = K>,
    who: impl Fn(&Entry) -> K,
) -> Vec<usize> {
    let mut counts: BTreeMap<K, usize> = all.map(|key| (key, 0)).collect();
    for entry in entries {
        *counts.entry(who(entry)).or_default() += 1;
    }
    counts.into_values().collect()
}

/// 1 where all got as much; 0 where one of them got nothing.
fn worst_to_best(counts: &[usize]) -> f64 {
    let worst = counts.iter().min().copied().unwrap_or(0);
    let best = counts.iter().max().copied().unwrap_or(0);
    whole(worst) / whole(best.max(1))
}

/// Returns the least part of the permits, of which all acquisitions together are the whole.
fn least_part(turn: &Turn, of_each: &[usize]) -> f64 {
    let permits = whole(turn.lock.permits());
    let all = whole(of_each.iter().sum::<usize>().max(1));
    let parts = of_each.iter().zip(&turn.crowds).map(|(&count, &tasks)| {
        let part = whole(tasks).min(permits / whole(of_each.len()));
        whole(count) / all * permits / part
    });
    parts.fold(f64::INFINITY, f64::min)
}

/// Returns the longest time for which a permit was free while a task waited.
fn longest_idle(entries: &[Entry], turn: &Turn) -> Duration {
    // For each permit: when it is acquired next, and since when a task waits then.
    let mut next = BTreeMap::new();
    let (mut waits_since, mut longest) = (u64::MAX, 0);
    for Entry { hold, .. } in entries.iter().rev() {
        waits_since = waits_since.min(hold.asked);
        let later = next.insert(hold.permit, (hold.acquired, waits_since));
        if let Some((acquired, since)) = later
            && turn.window.contains(acquired)
        {
            longest = longest.max(acquired.saturating_sub(since.max(hold.releasing)));
        }
    }
    Duration::from_nanos(longest)
}

/// Returns the longest time of the turn in which a process had the key not once.
fn longest_away(measured: &[Entry], turn: &Turn) -> Duration {
    let away = (0..turn.crowds.len()).map(|process| {
        let of_it = measured.iter().filter(|entry| entry.process == process);
        let mut last = turn.window.begin;
        let moments = of_it.map(|entry| entry.hold.acquired);
        let gaps = moments
            .chain([turn.window.end])
            .map(|at| at - std::mem::replace(&mut last, at));
        gaps.max().unwrap_or(0)
    });
    Duration::from_nanos(away.max().unwrap_or(0))
}

fn most_at_once(entries: &[Entry]) -> usize {
    let mut inside = Vec::new();
    let counts = entries.iter().map(|Entry { hold, .. }| {
        inside.retain(|releasing| *releasing > hold.acquired);
        inside.push(hold.releasing);
        inside.len()
    });
    counts.max().unwrap_or(0)
}

/// Returns the time from each release to the acquisition of another process that was waiting then. The first process
/// may have had the key again meanwhile.
fn hand_overs(entries: &[Entry]) -> Vec<Duration> {
    let mut times = Vec::new();
    // Releases since the key last changed hands.
    let mut open: Vec<Hold> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 && entries[index - 1].process != entry.process {
            let waited = open.drain(..);
            let waited = waited.filter(|from| entry.hold.asked <= from.releasing);
            times.extend(waited.map(|from| {
                let time = entry.hold.acquired.saturating_sub(from.releasing);
                Duration::from_nanos(time)
            }));
        }
        open.push(entry.hold);
    }
    times.sort_unstable();
    times
}

fn problems(entries: &[Entry], logs: &[Log]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut by_permit = entries.to_vec();
    by_permit.sort_by_key(|entry| entry.hold.permit);
    let mut permits = by_permit.chunk_by(|one, other| one.hold.permit == other.hold.permit);
    if let Some((first, second)) = permits.find_map(overlap) {
        let inside = first.hold.releasing - second.hold.acquired;
        problems.push(format!(
            "EXCLUSION VIOLATED: task {} of process {} acquired {} µs before task {} of process {} \
             released",
            second.hold.task,
            second.process,
            inside / 1_000,
            first.hold.task,
            first.process,
        ));
    }
    let failures: usize = logs.iter().map(|log| log.failures).sum();
    if failures > 0 {
        let first = logs.iter().find_map(|log| log.first_error.as_deref());
        let first = first.unwrap_or_default();
        problems.push(format!("{failures} releases failed, first: {first}"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contended::{Lock, Window};
    use crate::contender::Kind;

    const MS: u64 = 1_000_000;

    fn figures(logs: &[Vec<(usize, u64, u64, u64)>]) -> Figures {
        figures_of(Lock::Plain, logs)
    }

    /// Returns the figures of a turn. Each task has the permit of its own number, if there are permits.
    fn figures_of(lock: Lock, logs: &[Vec<(usize, u64, u64, u64)>]) -> Figures {
        let turn = Turn {
            kind: Kind::Ours,
            key: "k".to_owned(),
            lock,
            crowds: vec![2; logs.len()],
            hold: Duration::ZERO,
            pause: Duration::ZERO,
            retry_delay: Duration::ZERO,
            window: Window {
                begin: 0,
                end: 1_000 * MS,
            },
        };
        let hold = |&(task, asked, acquired, releasing): &(usize, u64, u64, u64)| Hold {
            task,
            permit: match lock {
                Lock::Permit(_) => u16::try_from(task).unwrap(),
                _ => 0,
            },
            asked: asked * MS,
            acquired: acquired * MS,
            releasing: releasing * MS,
            released: releasing * MS,
        };
        let log = |holds: &Vec<(usize, u64, u64, u64)>| Log {
            holds: holds.iter().map(hold).collect(),
            ..Log::default()
        };
        Figures::of(&turn, &logs.iter().map(log).collect::<Vec<_>>(), 48)
    }

    #[test]
    fn counts_waits_and_shares() {
        let figures = figures(&[vec![
            (0, 0, 1, 2),
            (0, 3, 4, 5),
            (1, 0, 6, 7),
            (1, 8, 1_200, 1_300),
        ]]);
        assert_eq!(figures.acquisitions, 3);
        assert!((figures.per_second - 3.0).abs() < 1e-9);
        assert!((figures.commands_an_acquisition - 12.0).abs() < 1e-9);
        assert!((figures.switches_per_second - 1.0).abs() < 1e-9);
        assert!((figures.worst_to_best_task - 0.5).abs() < 1e-9);
        assert_eq!(figures.wait_worst, Duration::from_millis(1_192));
        assert!(figures.problems.is_empty() && figures.hand_overs.is_empty());
    }

    #[test]
    fn a_task_that_got_nothing_is_the_worst() {
        let figures = figures(&[vec![(0, 0, 1, 2)]]);
        assert!(figures.worst_to_best_task.abs() < 1e-9);
    }

    #[test]
    fn only_who_waited_at_the_release_was_handed_the_key() {
        let figures = figures(&[
            vec![(0, 0, 1, 10), (0, 12, 20, 30)],
            vec![(0, 5, 13, 19), (0, 31, 32, 33)],
        ]);
        let expected = [Duration::from_millis(1), Duration::from_millis(3)];
        assert_eq!(figures.hand_overs, expected);
    }

    #[test]
    fn a_waiter_that_was_overtaken_by_the_holder_waits_on() {
        let figures = figures(&[vec![(0, 0, 1, 10), (0, 11, 12, 20)], vec![(0, 5, 22, 30)]]);
        let expected = [Duration::from_millis(2), Duration::from_millis(12)];
        assert_eq!(figures.hand_overs, expected);
        assert!((figures.handed_over - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn permits_are_idle_only_while_a_task_waits() {
        let figures = figures_of(
            Lock::Permit(2),
            &[
                vec![(0, 0, 1, 10), (1, 0, 2, 20), (0, 19, 24, 30)],
                vec![(1, 15, 25, 30), (1, 100, 101, 110)],
            ],
        );
        assert!(figures.problems.is_empty());
        assert_eq!(figures.most_at_once, 2);
        assert_eq!(figures.longest_idle, Duration::from_millis(9));
        assert!((figures.least_part - 0.8).abs() < 1e-9);
    }

    #[test]
    fn an_overlap_of_two_processes_is_a_problem() {
        let figures = figures(&[vec![(0, 0, 1, 10)], vec![(0, 0, 9, 12)]]);
        assert!(figures.problems[0].starts_with("EXCLUSION VIOLATED"));
    }
}
