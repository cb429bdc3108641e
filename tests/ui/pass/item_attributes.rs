//! Whatever stands on and in the function stays there.
#![deny(warnings, missing_docs, clippy::pedantic)]
#![allow(clippy::mixed_attributes_style)]

use redlock_runtime::{LockError, redlock};

/// Charges.
///
/// In two paragraphs.
#[redlock(resource = "order:{id}")]
#[must_use = "for nothing otherwise"]
#[allow(clippy::missing_errors_doc)]
pub async fn charge(id: u64) -> Result<u64, LockError> {
    #![allow(unused_variables)]
    #![doc = "An inner attribute."]
    let unused = 1;
    Ok(id)
}

mod inner {
    use super::{LockError, redlock};

    #[allow(dead_code, clippy::missing_errors_doc)]
    #[redlock(resource = "order:{id}")]
    pub(crate) async fn limited(#[cfg(not(any()))] id: u64, #[cfg(any())] id: u8) -> Result<u64, LockError> {
        Ok(id)
    }

    #[cfg(any())]
    #[redlock(no = "sense")]
    fn configured_out() {}
}

#[deprecated]
#[redlock(resource = "order:{id}")]
#[inline]
async fn several(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {
    #[allow(deprecated)]
    drop(several(1));
    drop(inner::limited(1));
}
