//! What a request of a reader or a writer may say.

use std::fmt;
use std::sync::Arc;

use crate::kinds::{Asking, Checked, Wants};
use crate::model::invalid::Invalid;
use crate::quorum::kind::Kind as Asked;

use super::{Reader, Writer};

pub(crate) struct Read;
pub(crate) struct Write;

impl Wants for Read {
    fn asked(&self, asking: Asking<'_>) -> Arc<dyn Asked> {
        Arc::new(Reader::new(&asking))
    }

    fn label(&self) -> &'static str {
        "read"
    }

    fn check(&self, request: &Checked<'_>) -> Result<(), Invalid> {
        has_one_name(request)?;
        if request.once_per {
            return Err(Invalid::new(
                "`once_per` is for a job, and readers run side by side; leave `once_per` out, or \
                 write (`mode = \"write\"`)",
            ));
        }
        Ok(())
    }

    fn excludes_its_like(&self) -> bool {
        false
    }

    fn is_covered_by_being_alone(&self) -> bool {
        true
    }

    fn needs_more_commands(&self) -> bool {
        true
    }
}

impl Wants for Write {
    fn asked(&self, asking: Asking<'_>) -> Arc<dyn Asked> {
        Arc::new(Writer::new(&asking))
    }

    fn label(&self) -> &'static str {
        "write"
    }

    fn check(&self, request: &Checked<'_>) -> Result<(), Invalid> {
        has_one_name(request)
    }

    fn is_alone(&self) -> bool {
        true
    }

    fn is_covered_by_being_alone(&self) -> bool {
        true
    }

    fn needs_more_commands(&self) -> bool {
        true
    }
}

fn has_one_name(request: &Checked<'_>) -> Result<(), Invalid> {
    if request.resource.names().len() > 1 {
        return Err(Invalid::new(format!(
            "the resource `{}` has several names, and readers and writers share one name only; \
             lock the names without a `mode`, or what they have in common",
            request.resource,
        )));
    }
    Ok(())
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a read lock")
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a write lock")
    }
}
