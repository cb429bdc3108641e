//! Rules for permits: the number by itself, and with other parameters.

use crate::args::Args;
use crate::errors::Errors;
use crate::parameters::Key;
use crate::plan::{Resource, Settings};

/// The limit of `redlock-core`, on which this crate does not depend.
const MAX_PERMITS: u32 = 256;

/// Refuses a number that no resource could have, and parameters that do not go together.
pub(crate) fn check_permits(
    args: &Args,
    settings: &Settings,
    resource: Option<&Resource>,
    errors: &mut Errors,
) {
    let Some(permits) = args.get(Key::Permits) else {
        return;
    };
    let count = settings.count(Key::Permits);
    if count.is_some_and(|count| !(1..=MAX_PERMITS).contains(&count)) {
        let message = format!(
            "`permits` is a number from 1 to {MAX_PERMITS}; a server looks at all permits at once, so \
             spread more holders over several resources"
        );
        errors.under(permits, message);
    }
    if count == Some(1) {
        // One permit is a plain lock.
        return;
    }
    if let Some(Resource::All(names)) = resource
        && names.len() > 1
    {
        errors.under(
            permits,
            "`permits` of several resources cannot be taken all or none; lock one resource, or leave \
             `permits` out",
        );
    }
    if let Some(later) = args.later_of(Key::Permits, Key::Fencing)
        && settings.is_true(Key::Fencing)
    {
        let message = "a store that compares tokens needs one holder at a time; keep one of `permits` and \
                       `fencing`, or lock one resource for each slot";
        errors.at(later, message);
    }
    if let Some(later) = args.later_of(Key::Permits, Key::OncePer) {
        let message = "several holders at a time would each run the job; keep one of `permits` and \
                       `once_per`";
        errors.at(later, message);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_limit_is_that_of_core() {
        assert_eq!(
            super::MAX_PERMITS,
            redlock_core::request::MAX_PERMITS.into()
        );
    }
}
