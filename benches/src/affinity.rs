//! The core on which a caller and its server run.
//!
//! If each of them has a core, each core idles during a part of each pair. The host takes longer to wake a core than
//! the pair takes: depending on their cores, a pair of one node takes 45 µs or 130.

#[cfg(target_os = "linux")]
pub(crate) use linux::OneCore;

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::Pid;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// Has the calling thread, the threads that it starts, and one server run on one core. Its drop ends that.
    pub(crate) struct OneCore {
        before: CpuSet,
        server: Option<Pid>,
    }

    impl OneCore {
        pub(crate) fn take(server: u32) -> Self {
            let before = sched_getaffinity(None).expect("the cores of this thread");
            let first = (0..CpuSet::MAX_CPU).find(|core| before.is_set(*core));
            let mut one = CpuSet::new();
            one.set(first.expect("this thread runs on a core"));
            let server = i32::try_from(server).ok().and_then(Pid::from_raw);
            let cores = Self { before, server };
            cores.set(&one);
            cores
        }

        fn set(&self, cores: &CpuSet) {
            for thread in [None, self.server] {
                sched_setaffinity(thread, cores).expect("own threads and servers may be moved");
            }
        }
    }

    impl Drop for OneCore {
        fn drop(&mut self) {
            self.set(&self.before);
        }
    }
}

/// Other systems have no such call: there the host decides.
#[cfg(not(target_os = "linux"))]
pub(crate) struct OneCore;

#[cfg(not(target_os = "linux"))]
impl OneCore {
    pub(crate) fn take(_server: u32) -> Self {
        Self
    }
}
