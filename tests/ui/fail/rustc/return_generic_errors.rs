//! An error type that is a parameter: rustc advises to restrict it by `From<LockError>`.
use redlock_runtime::redlock;

#[redlock(resource = "a")]
async fn parameter<E>(error: E) -> Result<u8, E> {
    Err(error)
}

#[redlock(resource = "a")]
async fn longer_name<Failure>(error: Failure) -> std::result::Result<impl Sized, Failure> {
    if true { Err(error) } else { Ok(1) }
}

#[redlock(resource = "a", if_locked = "skip")]
async fn skipped<E>(error: E) -> Result<(), E> {
    Err(error)
}

struct Service<E>(E);

impl<E> Service<E> {
    #[redlock(resource = "a")]
    async fn of_the_impl(self) -> Result<u8, E> {
        Err(self.0)
    }
}

trait Job {
    type Error;

    #[redlock(resource = "a")]
    async fn associated(&self) -> Result<u8, Self::Error> {
        Ok(1)
    }
}

fn main() {}
