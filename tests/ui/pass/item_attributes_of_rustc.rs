//! Attributes of the compiler's, above and below.
#![deny(warnings, unfulfilled_lint_expectations)]
#![allow(clippy::missing_errors_doc, clippy::mixed_attributes_style, clippy::needless_pass_by_value)]

use redlock_runtime::{LockError, redlock};

mod inner {
    use super::{LockError, redlock};

    #[expect(dead_code, reason = "called by nobody")]
    #[redlock(resource = "a")]
    async fn never_called() -> Result<(), LockError> {
        Ok(())
    }

    #[redlock(resource = "a")]
    #[expect(unused_variables)]
    #[doc(hidden)]
    #[cold]
    #[inline(never)]
    pub async fn below(unused: String) -> Result<u64, LockError> {
        #[expect(unused_mut)]
        let mut n = 1;
        #[rustfmt::skip]
        let m = [1,2,
                 3];
        Ok(n + m[0])
    }

    #[deprecated(since = "0.1.0", note = "use `below`")]
    #[redlock(resource = "a")]
    #[must_use = "it has charged"]
    pub async fn deprecated() -> Result<(), LockError> {
        #[allow(deprecated)]
        Box::pin(deprecated()).await
    }

    #[doc = concat!("Made of ", "two.")]
    #[redlock(resource = "a")]
    #[doc(alias = "other")]
    #[allow(unused_must_use, reason = "the body's")]
    pub async fn documented() -> Result<(), LockError> {
        //! An inner comment.
        #![allow(clippy::let_unit_value)]
        "1".parse::<u8>();
        let () = std::future::ready(()).await;
        Ok(())
    }
}

#[expect(deprecated)]
fn main() {
    drop((inner::below(String::new()), inner::deprecated(), inner::documented()));
}
