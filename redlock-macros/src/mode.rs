//! Rules for readers and writers.

use crate::args::Args;
use crate::errors::Errors;
use crate::parameters::Key;
use crate::plan::{Resource, Setting, Settings, Value};

/// Reports what readers and writers cannot have.
pub(crate) fn check_mode(
    args: &Args,
    settings: &Settings,
    resource: Option<&Resource>,
    errors: &mut Errors,
) {
    let Some(value) = args.get(Key::Mode) else {
        return;
    };
    if let Some(Resource::All(names)) = resource
        && names.len() > 1
    {
        errors.under(
            value,
            "readers and writers share one name; lock several names without a `mode`, or what they have in \
             common",
        );
    }
    let reads = matches!(
        settings.get(Key::Mode),
        Some(Setting::Literal(Value::Variant(["Mode", "Read"])))
    );
    if reads && let Some(value) = args.get(Key::OncePer) {
        errors.under(
            value,
            "`once_per` is for a job, and readers run side by side; leave it out, or write `mode = \"write\"`",
        );
    }
}
