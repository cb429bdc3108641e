//! Seeded randomness: the only source of it in a run.

use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::env::Entropy;

/// A generator whose numbers depend on its seed alone (`SplitMix64`), on every platform and with
/// every version of every dependency: a seed that failed last year fails the same way today.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own for one part of the world, so that a change to what one part draws
    /// leaves the others as they were.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// Returns the next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which is not zero.
    pub const fn below(&mut self, bound: u64) -> u64 {
        // The modulo's bias does not matter to a test.
        self.next() % bound
    }

    /// Returns an index into something of `length`, which is not zero.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// True `times` out of 10 000.
    pub const fn chance(&mut self, times: u64) -> bool {
        times > 0 && self.below(10_000) < times
    }

    /// One of `choices`, which are not empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// Returns a number in `[least, most]`.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        least.saturating_add_unsigned(self.below(most.abs_diff(least).saturating_add(1)))
    }

    /// Returns a time in `[least, most]` µs.
    pub const fn micros(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_micros(least + self.below(most - least + 1))
    }

    /// Returns a time in `[least, most]` ms, to the µs.
    pub const fn millis(&mut self, least: u64, most: u64) -> Duration {
        self.micros(least * 1000, most * 1000)
    }
}

/// A client's randomness: reproducible, and therefore for simulations only.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<Random>);

impl SeededEntropy {
    /// Bytes from `random`.
    pub const fn new(random: Random) -> Self {
        Self(Mutex::new(random))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut random = self.0.lock();
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
        }
    }
}
