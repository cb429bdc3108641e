//! A mistake that came through a `macro_rules!` macro is shown where it was written.
use redlock_runtime::{LockError, redlock};

macro_rules! locked {
    ($name:ident, $resource:expr, $ttl:expr, $guard:ident) => {
        #[redlock(resource = $resource, ttl = $ttl, guard = $guard)]
        async fn $name(id: u64) -> Result<u64, LockError> {
            Ok(id)
        }
    };
}

locked!(empty, "", 50, lease);
locked!(unknown, "{usr.id}", 50, lease);
locked!(positional, "{}", 50, lease);
locked!(short, "a", 5, lease);
locked!(negative, "a", -5, lease);

macro_rules! own_mistake {
    ($name:ident) => {
        #[redlock(resource = "a", tll = 50)]
        async fn $name() -> Result<(), LockError> {
            Ok(())
        }
    };
}

own_mistake!(misspelled);

macro_rules! arguments {
    ($($argument:tt)*) => {
        #[redlock($($argument)*)]
        async fn with_arguments() -> Result<(), LockError> {
            Ok(())
        }
    };
}

arguments!(resource = "a", pools = ["a", "a"], on_lost = "cancle");

macro_rules! no_resource {
    ($name:ident) => {
        #[redlock(ttl = 50)]
        async fn $name() -> Result<(), LockError> {
            Ok(())
        }
    };
}

no_resource!(missing);

fn main() {
    let _ = (empty(1), unknown(1), positional(1), short(1), negative(1));
    let _ = (misspelled(), with_arguments(), missing());
}
