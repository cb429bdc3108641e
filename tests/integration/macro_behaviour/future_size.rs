//! How much larger a future is for being annotated: the way to a lock and back is kept elsewhere,
//! and what belongs to the body is stored once.
//!
//! An `async fn` of its own accord stores an argument that lives across an await twice, as what it
//! was called with and as the variable (rust-lang/rust#62958); so each figure is compared with the
//! same function without the attribute.

use std::future::Future;
use std::hint::black_box;
use std::time::Duration;

use redlock_runtime::{LockError, redlock};

/// What the attribute may add to a function: what it does add, rounded up to 8 bytes. One more pointer in the
/// future of a call exceeds it.
const MOST: usize = 40;

/// The same with `guard`: the lease is in the future too.
const MOST_WITH_GUARD: usize = 232;

const LARGE: usize = 4096;

type Outcome = Result<usize, LockError>;

/// Something large that is moved, not copied.
struct Order {
    id: u64,
    lines: [Box<[u8]>; LARGE / 16],
}

impl Order {
    fn new() -> Self {
        Self {
            id: 7,
            lines: std::array::from_fn(|_| Box::default()),
        }
    }
}

async fn pause() {
    std::future::ready(()).await;
}

/// The same function twice, with the attribute and without.
macro_rules! twins {
    ($(
        #[redlock($($parameters:tt)*)]
        async fn $name:ident($($arguments:tt)*) -> $output:ty $body:block
    )*) => {
        mod locked {
            use super::*;
            $(
                #[redlock($($parameters)*)]
                pub(super) async fn $name($($arguments)*) -> $output $body
            )*
        }

        mod bare {
            use super::*;
            $( pub(super) async fn $name($($arguments)*) -> $output $body )*
        }
    };
}

twins! {
    #[redlock(resource = "plain")]
    async fn without_arguments() -> Outcome {
        let local = [1_u8; LARGE];
        pause().await;
        Ok(black_box(&local).len())
    }

    #[redlock(resource = "order:{id}:{name}")]
    async fn with_moved_arguments(id: usize, name: String) -> Outcome {
        let local = [1_u8; LARGE];
        drop(name);
        pause().await;
        Ok(black_box(&local).len() + black_box(id))
    }

    #[redlock(resource = "order:{pair.0}:{id:08}")]
    async fn with_a_dotted_placeholder(pair: (usize, usize), id: usize) -> Outcome {
        let local = [1_u8; LARGE];
        pause().await;
        Ok(black_box(&local).len() + black_box(pair.1 + id))
    }

    #[redlock(resource = "plain", ttl = ttl * 2, retry_count = 1 + 2, max_hold = ttl * 4)]
    async fn with_expressions(ttl: Duration) -> Outcome {
        let local = [1_u8; LARGE];
        pause().await;
        Ok(black_box(&local).len() + usize::from(ttl.is_zero()))
    }

    #[redlock(resource = ["account:{from}", "account:{to}"])]
    async fn with_several_keys(from: usize, to: usize) -> Outcome {
        let local = [1_u8; LARGE];
        pause().await;
        Ok(black_box(&local).len() + black_box(from + to))
    }

    #[redlock(resource = "plain")]
    async fn with_an_early_return(is_early: bool) -> Outcome {
        if is_early {
            return Ok(0);
        }
        let local = [1_u8; LARGE];
        pause().await;
        Ok(black_box(&local).len())
    }

    #[redlock(resource = "plain")]
    async fn with_a_large_argument(order: Order) -> Outcome {
        pause().await;
        Ok(black_box(&order).lines.len())
    }

    #[redlock(resource = "plain")]
    async fn with_a_large_pattern(Order { lines, .. }: Order) -> Outcome {
        pause().await;
        Ok(black_box(&lines).len())
    }

    #[redlock(resource = "order:{order.id}")]
    async fn with_a_large_argument_in_the_template(order: Order) -> Outcome {
        pause().await;
        Ok(black_box(&order).lines.len())
    }

    #[redlock(resource = "plain")]
    async fn with_a_large_result() -> Result<[u8; LARGE], LockError> {
        let local = [1_u8; LARGE];
        pause().await;
        Ok(black_box(local))
    }
}

/// These cannot be written as twins.
mod others {
    use super::*;

    #[redlock(resource = "plain", guard = lease)]
    pub(super) async fn with_a_guard() -> Outcome {
        let local = [1_u8; LARGE];
        pause().await;
        Ok(black_box(&local).len() + lease.token_id().len())
    }

    impl Order {
        #[redlock(resource = "order:{self.id}")]
        pub(super) async fn method(&self) -> Outcome {
            let local = [1_u8; LARGE];
            pause().await;
            Ok(black_box(&local).len() + self.lines.len())
        }

        pub(super) async fn bare_method(&self) -> Outcome {
            let local = [1_u8; LARGE];
            pause().await;
            Ok(black_box(&local).len() + self.lines.len())
        }
    }

    #[redlock(resource = "order:{id}")]
    pub(super) fn returned_future(id: usize) -> impl Future<Output = Outcome> {
        let id = id + 1;
        async move {
            let local = [1_u8; LARGE];
            pause().await;
            Ok(black_box(&local).len() + black_box(id))
        }
    }

    pub(super) fn bare_returned_future(id: usize) -> impl Future<Output = Outcome> {
        let id = id + 1;
        async move {
            let local = [1_u8; LARGE];
            pause().await;
            Ok(black_box(&local).len() + black_box(id))
        }
    }
}

/// Checks how much larger `locked` is than `bare`.
fn check<L, B>(what: &str, locked: &L, bare: &B, most: usize) {
    let (locked, bare) = (size_of_val(locked), size_of_val(bare));
    println!("{what}: {bare} and {}", locked - bare);
    assert!(bare > LARGE, "{what}: {bare} bytes, so nothing is shown");
    assert!(
        locked <= bare + most,
        "{what}: {locked} bytes, without the attribute {bare}"
    );
}

macro_rules! check_twins {
    ($($name:ident($($argument:expr),*), $most:expr;)*) => {
        $( check(stringify!($name), &locked::$name($($argument),*), &bare::$name($($argument),*), $most); )*
    };
}

#[test]
fn a_body_with_a_large_local_is_stored_once() {
    let order = Order::new();
    // An argument that the template borrows is stored once more, if only as an integer.
    check_twins! {
        without_arguments(), MOST;
        with_moved_arguments(7, String::new()), MOST + 56;
        with_a_dotted_placeholder((1, 2), 3), MOST + 24;
        with_expressions(Duration::ZERO), MOST;
        with_several_keys(1, 2), MOST + 16;
        with_an_early_return(false), MOST;
        with_a_large_result(), MOST + 8;
    }
    check("method", &order.method(), &order.bare_method(), MOST);
    check(
        "returned",
        &others::returned_future(7),
        &others::bare_returned_future(7),
        MOST + 8,
    );
    check(
        "guard",
        &others::with_a_guard(),
        &bare::without_arguments(),
        MOST_WITH_GUARD,
    );
}

#[test]
fn a_large_argument_is_stored_as_often_as_without_the_attribute() {
    check_twins! {
        with_a_large_argument(Order::new()), MOST;
        with_a_large_pattern(Order::new()), MOST;
    }
}

#[test]
fn a_large_argument_in_the_template_is_stored_once_more() {
    // A variable that anything borrows, as the template does, keeps its place to the end of its
    // scope (rust-lang/rust#59087), although the body has moved it by then.
    let most = MOST + size_of::<Order>();
    check_twins! {
        with_a_large_argument_in_the_template(Order::new()), most;
    }
}
