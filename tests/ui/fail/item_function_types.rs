//! An `fn` in a type makes no function of an item.
use redlock_runtime::redlock;

#[redlock(resource = "a")]
pub const CALLED: fn() = main;

#[redlock(resource = "a")]
static CALLED_TOO: fn() = main;

#[redlock(resource = "a")]
type Called = fn(u8) -> u8;

trait Job {
    fn job(&self) {}
}

#[redlock(resource = "a")]
impl Job for fn() {}

#[redlock(resource = "a")]
struct Holder<F = fn()>(F);

fn main() {
    CALLED.job();
    let holder: Holder = Holder(CALLED_TOO);
    (holder.0)();
    let _: Option<Called> = None;
}
