//! Log lines at most once a second and cause. What was held back is told with the next line, or if none
//! comes in the second after.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tracing::Level;

use super::caught::caught;
use super::cause::{About, Cause};
use super::environment::Environment;
use super::{Clock, Moment, Spawn};

/// How many lines of a cause may pass in which time.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) lines: u32,
    pub(crate) every: Duration,
}

const ONE_A_SECOND: Pace = Pace {
    lines: 1,
    every: Duration::from_secs(1),
};

/// The most causes that are told apart at a time. The lines of further ones are told as one cause for
/// each text.
const MOST_CAUSES: usize = 256;

/// Writes the line about the events that were held back.
type Tell = dyn Fn(&Cause, u64) + Send + Sync;

/// Holds log lines back that come within a second after a line of the same [`Cause`], and tells how many
/// they were: with the next line of the cause, or in a line of its own if no event comes in the second
/// after, or in [`tell_all`](Self::tell_all). While events go on, each second has a line of an event, which
/// says the reason. A fault of a node concerns all leases at once.
///
/// The lines that pass, and the numbers that are told, add up to the number of all events. A clone is the
/// same throttles.
#[derive(Clone)]
pub struct Throttles {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    spawner: Arc<dyn Spawn>,
    tell: Box<Tell>,
    pace: Pace,
    state: Mutex<ThrottlesState>,
}

#[derive(Default)]
struct ThrottlesState {
    causes: BTreeMap<Cause, Throttle>,
    /// True while a task waits until something that was held back is to be told.
    is_telling: bool,
}

struct Throttle {
    /// When further lines may pass.
    opens: Moment,
    /// The number of lines that may pass before.
    left: u32,
    held_back: u64,
}

impl Throttle {
    /// When what was held back is told in a line of its own. The second before belongs to the next event,
    /// whose line says the reason.
    fn tells(&self) -> Moment {
        self.opens.saturating_add(ONE_A_SECOND.every)
    }
}

impl Throttles {
    /// Throttles on the clock of `environment`. `tell` writes the line about the events that were held
    /// back; a panic in it is caught.
    pub fn new(
        environment: &Environment,
        tell: impl Fn(&Cause, u64) + Send + Sync + 'static,
    ) -> Self {
        Self::with_pace(ONE_A_SECOND, environment, tell)
    }

    /// The same with another pace than a line a second.
    pub(crate) fn with_pace(
        pace: Pace,
        environment: &Environment,
        tell: impl Fn(&Cause, u64) + Send + Sync + 'static,
    ) -> Self {
        let shared = Shared {
            clock: Arc::clone(&environment.clock),
            spawner: Arc::clone(&environment.spawner),
            tell: Box::new(tell),
            pace,
            state: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The number of events of this cause that were held back and not told yet, if the line of this event
    /// may be written; `None` if it is held back.
    pub fn pass(&self, level: Level, text: &'static str, about: About) -> Option<u64> {
        let cause = Cause { level, text, about };
        let (now, pace) = (self.shared.clock.now(), self.shared.pace);
        let begins = {
            let mut state = self.shared.state.lock();
            let throttle = state.throttle(cause, now);
            if now >= throttle.opens {
                throttle.opens = now.saturating_add(pace.every);
                // While there are too many, one line says how many.
                throttle.left = if throttle.held_back > 0 {
                    1
                } else {
                    pace.lines
                };
            }
            if throttle.left > 0 {
                throttle.left -= 1;
                return Some(std::mem::take(&mut throttle.held_back));
            }
            throttle.held_back += 1;
            !std::mem::replace(&mut state.is_telling, true)
        };
        if begins {
            let telling = Telling {
                shared: Arc::clone(&self.shared),
                is_done: false,
            };
            self.shared.spawner.spawn(Box::pin(telling.run()));
        }
        None
    }

    /// Tells at once what was held back. For the end of a process.
    pub fn tell_all(&self) {
        self.shared.tell(|_| true);
    }
}

impl ThrottlesState {
    fn throttle(&mut self, mut cause: Cause, now: Moment) -> &mut Throttle {
        if self.causes.len() >= MOST_CAUSES && !self.causes.contains_key(&cause) {
            self.causes
                .retain(|_, it| it.held_back > 0 || it.opens > now);
            if self.causes.len() >= MOST_CAUSES {
                cause.about = About::default();
            }
        }
        self.causes.entry(cause).or_insert(Throttle {
            opens: now,
            left: 0,
            held_back: 0,
        })
    }
}

impl Shared {
    /// Tells what was held back of the causes whose throttles are `due`.
    fn tell(&self, due: impl Fn(&Throttle) -> bool) {
        let now = self.clock.now();
        let mut told = Vec::new();
        for (cause, throttle) in &mut self.state.lock().causes {
            if throttle.held_back > 0 && due(throttle) {
                // The line about them is a line of this cause too.
                throttle.opens = now.saturating_add(self.pace.every);
                throttle.left = 0;
                told.push((cause.clone(), std::mem::take(&mut throttle.held_back)));
            }
        }
        // Outside of the mutex: a log subscriber may run any code.
        for (cause, held_back) in &told {
            caught("a log subscriber", || (self.tell)(cause, *held_back));
        }
    }

    /// The first moment at which something is to be told. `None` if nothing was held back, and the task
    /// ends.
    fn next(&self) -> Option<Moment> {
        let mut state = self.state.lock();
        let waiting = state.causes.values().filter(|it| it.held_back > 0);
        let next = waiting.map(Throttle::tells).min();
        state.is_telling = next.is_some();
        next
    }
}

/// The task that tells what was held back. It runs only while something is.
struct Telling {
    shared: Arc<Shared>,
    is_done: bool,
}

impl Telling {
    async fn run(mut self) {
        while let Some(next) = self.shared.next() {
            self.shared.clock.sleep_until(next).await;
            let now = self.shared.clock.now();
            self.shared.tell(|throttle| throttle.tells() <= now);
        }
        self.is_done = true;
    }
}

/// If the task is dropped before its end, the next event that is held back starts another one.
impl Drop for Telling {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.state.lock().is_telling = false;
        }
    }
}

impl fmt::Debug for Throttles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Throttles").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::still_clock::StillClock;
    use crate::env::tasks::{Tasks, by_hand};

    type Told = Arc<Mutex<Vec<(Option<&'static str>, u64)>>>;

    struct Scene {
        clock: Arc<StillClock>,
        tasks: Arc<Tasks>,
        throttles: Throttles,
        /// What was told in lines of their own: the site, and how many.
        told: Told,
    }

    impl Scene {
        fn new() -> Self {
            let (clock, tasks, environment) = by_hand();
            let told = Told::default();
            let telling = Arc::clone(&told);
            let throttles = Throttles::new(&environment, move |cause, held_back| {
                telling.lock().push((cause.about.site, held_back));
            });
            Self {
                clock,
                tasks,
                throttles,
                told,
            }
        }

        fn pass(&self, site: &'static str) -> Option<u64> {
            let about = About::site(site);
            self.throttles.pass(Level::WARN, "lost", about)
        }

        fn advance(&self, ms: u64) {
            self.clock.advance(Duration::from_millis(ms));
            self.tasks.poll();
        }

        fn told(&self) -> Vec<(Option<&'static str>, u64)> {
            std::mem::take(&mut *self.told.lock())
        }
    }

    #[test]
    fn the_end_of_a_burst_is_told_when_no_line_followed_for_a_second() {
        let scene = Scene::new();
        assert_eq!(scene.pass("a"), Some(0));
        assert_eq!(scene.tasks.count(), 0, "no task while nothing is held back");
        for _ in 0..99 {
            assert_eq!(scene.pass("a"), None);
        }
        assert_eq!(scene.tasks.count(), 1);
        scene.advance(1999);
        assert_eq!(scene.told(), []);
        scene.advance(1);
        assert_eq!(scene.told(), [(Some("a"), 99)]);
        assert_eq!(
            scene.tasks.count(),
            0,
            "the task ends with what it had to tell"
        );
        // The line about them was one of this cause.
        assert_eq!(scene.pass("a"), None);
        scene.advance(2000);
        assert_eq!(scene.told(), [(Some("a"), 1)]);
        scene.advance(1000);
        assert_eq!((scene.pass("a"), scene.told()), (Some(0), vec![]));
    }

    /// Events at all times: the lines and the numbers in them are all events, and no two lines of a cause
    /// are less than a second apart.
    #[test]
    fn lines_and_what_was_held_back_add_up_to_all_events() {
        let scene = Scene::new();
        let (mut events, mut accounted, mut lines) = (0, 0, Vec::new());
        for step in 0..5000_u64 {
            // The task is late at times, so that an event comes before it after the end of the second.
            let is_task_late = step % 7 == 0;
            scene.clock.advance(Duration::from_millis(step % 5));
            if !is_task_late {
                scene.tasks.poll();
            }
            for (_, held_back) in scene.told() {
                accounted += held_back;
                lines.push(scene.clock.now());
            }
            if step % 3 < 2 {
                events += 1;
                if let Some(held_back) = scene.pass("a") {
                    accounted += 1 + held_back;
                    lines.push(scene.clock.now());
                }
            }
        }
        scene.throttles.tell_all();
        accounted += scene
            .told()
            .iter()
            .map(|(_, held_back)| held_back)
            .sum::<u64>();
        assert_eq!(accounted, events);
        assert!(lines.len() > 5, "{lines:?}");
        let pauses = lines.windows(2).map(|two| two[1].saturating_since(two[0]));
        assert!(pauses.min() >= Some(ONE_A_SECOND.every), "{lines:?}");
    }

    #[test]
    fn causes_are_held_back_apart_and_all_are_told_at_the_end_of_the_process() {
        let scene = Scene::new();
        for site in ["a", "b"] {
            assert_eq!(scene.pass(site), Some(0));
            assert_eq!(scene.pass(site), None);
        }
        assert_eq!(scene.pass("b"), None);
        scene.throttles.tell_all();
        assert_eq!(scene.told(), [(Some("a"), 1), (Some("b"), 2)]);
        scene.throttles.tell_all();
        assert_eq!(scene.told(), []);
    }

    #[test]
    fn a_task_that_was_dropped_is_replaced() {
        let scene = Scene::new();
        scene.pass("a");
        assert_eq!(scene.pass("a"), None);
        drop(scene.tasks.take());
        assert_eq!(scene.pass("a"), None);
        scene.advance(2000);
        assert_eq!(scene.told(), [(Some("a"), 2)]);
    }

    #[test]
    fn many_causes_take_no_more_memory_than_some() {
        let scene = Scene::new();
        let mut passed = 0;
        for number in 0..10 * MOST_CAUSES {
            let about = About::pools(number.to_string());
            passed += usize::from(scene.throttles.pass(Level::WARN, "t", about).is_some());
        }
        let causes = || scene.throttles.shared.state.lock().causes.len();
        // The rest is one cause.
        assert_eq!((passed, causes()), (MOST_CAUSES + 1, MOST_CAUSES + 1));
        scene.advance(2000);
        let told = scene.told();
        assert_eq!(told, [(None, u64::try_from(9 * MOST_CAUSES - 1).unwrap())]);
        // Causes that are quiet for a second make room.
        scene.advance(1000);
        let about = About::pools("new".to_owned());
        assert_eq!(scene.throttles.pass(Level::WARN, "t", about), Some(0));
        assert_eq!(causes(), 1);
    }
}
