//! Whatever else an attribute can stand on: one error at the keyword that says what it is.
use redlock_runtime::redlock;

#[redlock(resource = "a")]
pub enum Either {
    Left,
}

#[redlock(resource = "a")]
pub(crate) union Bits {
    a: u8,
}

#[redlock(resource = "a")]
const LIMIT: u8 = 1;

#[redlock(resource = "a")]
type Byte = u8;

#[redlock(resource = "a")]
pub(self) use std::fmt::Debug as Shown;

#[redlock(resource = "a")]
extern crate std as other;

#[redlock(resource = "a")]
unsafe extern "C" {
    safe fn abs(n: i32) -> i32;
}

#[redlock(resource = "a")]
macro_rules! one {
    () => {
        struct One;
    };
}

#[redlock(resource = "a")]
one! {}

pub struct Wrapper<T>(T);

#[redlock(resource = "a")]
unsafe impl<T> Sync for Wrapper<T> where T: Sync {}

impl Either {
    #[redlock(resource = "a")]
    const FIRST: Self = Self::Left;
}

trait Job {
    #[redlock(resource = "a")]
    type Output;
}

impl Job for Either {
    type Output = u8;
}

fn show<T: Shown>(_: T) -> T {
    unimplemented!()
}

fn main() {
    let _ = (Either::FIRST, Bits { a: LIMIT }, Byte::MAX, abs(1), other::mem::size_of::<u8>());
    let _: <Either as Job>::Output = show(1);
    fn is_sync<T: Sync>() {}
    is_sync::<Wrapper<u8>>();
}
