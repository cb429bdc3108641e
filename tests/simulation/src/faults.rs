//! The faults of a run, and their times.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::SkewedClock;
use crate::history::History;
use crate::link::Link;
use crate::profile::{Profile, Settings};
use crate::random::Random;
use crate::server::{Disk, ERRORS, Refusing, Server};
use crate::world::World;

/// Everything that can be broken.
pub(crate) struct Breakable {
    pub(crate) world: Arc<World>,
    pub(crate) history: Arc<History>,
    pub(crate) servers: Arc<[Arc<Server>]>,
    /// By client and seat.
    pub(crate) links: Vec<Vec<Arc<Link>>>,
    pub(crate) clocks: Vec<Arc<SkewedClock>>,
    pub(crate) settings: Settings,
}

impl Breakable {
    /// Plans all faults of a run.
    pub(crate) fn plan(self: &Arc<Self>, random: &mut Random) {
        let span = u64::try_from(self.settings.span.as_micros()).unwrap_or(u64::MAX);
        let Settings {
            faults, deletions, ..
        } = self.settings;
        for number in 0..faults + deletions {
            let at = random.micros(0, span);
            let (me, mut random) = (Arc::downgrade(self), random.fork());
            self.world.after(at, move || match me.upgrade() {
                Some(me) if number < faults => me.fault(&mut random),
                Some(me) => me.delete(&mut random),
                None => {}
            });
        }
    }

    fn fault(self: &Arc<Self>, random: &mut Random) {
        let seat = random.index(self.servers.len());
        let client = random.index(self.links.len());
        let (server, link) = (&self.servers[seat], &self.links[client][seat]);
        let now = self.world.now();
        let is_wild = self.settings.profile == Profile::Wild;
        match random.below(if is_wild { 22 } else { 16 }) {
            // Either connection, or both.
            0 => link.deafen(),
            1 => {
                link.deafen();
                link.break_now();
            }
            2 | 3 => link.break_now(),
            4 => {
                let span = random.millis(1, 1500);
                self.history.fault(seat, || {
                    format!("n{seat} is cut off from c{client} for {span:?}")
                });
                link.cut(now + span);
            }
            5 => {
                let span = random.millis(1, 1500);
                self.history.fault(seat, || {
                    format!("c{client} is cut off from all for {span:?}")
                });
                for link in &self.links[client] {
                    link.cut(now + span);
                }
            }
            6 | 7 => {
                let span = random.millis(1, 700);
                self.history
                    .fault(seat, || format!("n{seat} hangs for {span:?}"));
                self.history.count(|coverage| coverage.hung += 1);
                server.hang(now + span);
            }
            8 if self.settings.forgets => {
                // All at once, as when the power fails.
                for seat in 0..self.servers.len() {
                    self.crash(seat, random);
                }
            }
            9 if self.settings.forgets => {
                // As if its host's clock had stepped: the grants that it has no longer count.
                self.history
                    .fault(seat, || format!("c{client} relies on no grant any more"));
                for link in &self.links[client] {
                    link.later(Duration::ZERO, Link::begin_epoch);
                }
            }
            8..=10 => self.crash(seat, random),
            11 => {
                let span = random.millis(1, 2500);
                self.history
                    .fault(seat, || format!("c{client} stands still for {span:?}"));
                self.world.pause(client, span);
            }
            12 | 13 => {
                let error = self.settings.wall_error;
                self.clocks[client].jump(random.between(-error, error));
                self.history.count(|coverage| coverage.stepped += 1);
            }
            14 | 15 => {
                let (span, error) = (random.millis(1, 1500), random.pick(&ERRORS));
                self.history
                    .fault(seat, || format!("n{seat} answers {error:?} for {span:?}"));
                server.refuse(Refusing {
                    until: now + span,
                    error,
                });
            }
            16..=18 => {
                let micros = random.between(-15_000_000, 15_000_000);
                self.history
                    .fault(seat, || format!("n{seat}'s clock steps by {micros} µs"));
                self.history.count(|coverage| coverage.stepped += 1);
                server.clock.step(micros);
            }
            _ => self.delete(random),
        }
    }

    /// Somebody deletes a lock by hand, on one node.
    fn delete(&self, random: &mut Random) {
        let seat = random.index(self.servers.len());
        let name = format!("lock:{}", random.below(self.settings.names));
        self.history
            .fault(seat, || format!("{name} is deleted on n{seat}"));
        self.history.count(|coverage| coverage.deleted += 1);
        self.servers[seat].delete(name.as_bytes());
    }

    fn crash(self: &Arc<Self>, seat: usize, random: &mut Random) {
        let server = Arc::clone(&self.servers[seat]);
        if !server.is_up() {
            return;
        }
        let disk = if self.settings.forgets {
            random.pick(&[Disk::Whole, Disk::Older, Disk::Empty])
        } else {
            Disk::Whole
        };
        // With data from before: from up to a second before, as with `appendfsync everysec`.
        let ahead = if disk == Disk::Older {
            server.save();
            random.millis(0, 1000)
        } else {
            Duration::ZERO
        };
        let down = random.millis(0, random.clone().pick(&[20, 300, 2000]));
        // A process that dies closes its connections; a host that does, or a network, closes none.
        let is_silent = random.below(3) == 0;
        let (me, mut random) = (Arc::downgrade(self), random.fork());
        self.world.after(ahead, move || {
            let Some(me) = me.upgrade() else {
                return;
            };
            if !server.is_up() {
                return;
            }
            me.history.fault(seat, || {
                format!("n{seat} dies, disk {disk:?}, for {down:?}")
            });
            me.history.count(|coverage| match disk {
                Disk::Whole => coverage.restarted += 1,
                Disk::Older => coverage.rolled_back += 1,
                Disk::Empty => coverage.wiped += 1,
            });
            server.crash(disk);
            for links in &me.links {
                let link = Arc::downgrade(&links[seat]);
                let noticed = random.millis(0, if is_silent { 2000 } else { 5 });
                me.world.after(noticed, move || {
                    if let Some(link) = link.upgrade() {
                        link.break_if_dead();
                    }
                });
            }
            let (me, server) = (Arc::downgrade(&me), Arc::clone(&server));
            let Some(world) = me.upgrade().map(|me| Arc::clone(&me.world)) else {
                return;
            };
            world.after(down, move || {
                if let Some(me) = me.upgrade() {
                    me.history.fault(seat, || format!("n{seat} is up again"));
                    server.start();
                }
            });
        });
    }

    /// Sets the clocks right that were wrong from the start.
    pub(crate) fn mend_clocks(&self) {
        for server in self.servers.iter().take(self.settings.misset) {
            let by = -self.settings.misset_by;
            self.history.fault(server.seat, || {
                format!("n{}'s clock is mended", server.seat)
            });
            self.history.count(|coverage| coverage.mended += 1);
            server.clock.step(by);
        }
    }

    /// Nobody is connected until then.
    pub(crate) fn leave_alone_until(&self, then: Duration) {
        for link in self.links.iter().flatten() {
            link.cut(then);
        }
    }

    /// The end of all faults. A minority stays dead.
    pub(crate) fn heal(&self) {
        for links in &self.links {
            for link in links {
                link.heal();
            }
        }
        for server in self.servers.iter() {
            server.wake();
            if server.seat < self.settings.dead {
                server.crash(Disk::Whole);
                for links in &self.links {
                    links[server.seat].break_if_dead();
                }
            } else if !server.is_up() {
                server.start();
            }
        }
    }
}
