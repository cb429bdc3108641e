//! Rules for permits: each number by itself, and with other parameters.

use crate::args::Args;
use crate::errors::Errors;
use crate::parameters::Key;
use crate::plan::{Resource, Settings};

/// The limits of `redlock-core`, on which this crate does not depend.
const MAX_PERMITS: u32 = 256;
const MAX_TAKE: u32 = 8;

/// Refuses numbers that no call could have, and parameters that do not go together.
pub(crate) fn check_permits(
    args: &Args,
    settings: &Settings,
    resource: Option<&Resource>,
    errors: &mut Errors,
) {
    let given = |key| Some((args.get(key)?, settings.count(key)?));
    if let Some((value, permits)) = given(Key::Permits)
        && !(1..=MAX_PERMITS).contains(&permits)
    {
        let message = format!(
            "`permits` is a number from 1 to {MAX_PERMITS}; a server looks at all permits at once, so \
             spread more holders over several resources"
        );
        errors.under(value, message);
    }
    match (given(Key::Take), given(Key::Permits)) {
        (Some((value, take)), _) if !(1..=MAX_TAKE).contains(&take) => {
            let message = format!(
                "`take` is a number from 1 to {MAX_TAKE}, the most permits of one call"
            );
            errors.under(value, message);
        }
        (Some((value, take)), Some((_, permits))) if take > permits => errors.under(
            value,
            "`take` is above `permits`, so that no acquisition could ever succeed; raise `permits` or \
             lower `take`",
        ),
        _ => {}
    }
    let Some(permits) = args.get(Key::Permits) else {
        // Beside a `mode` it has to go.
        if let Some(take) = args.get(Key::Take)
            && !args.attempted(Key::Permits)
            && !args.attempted(Key::Mode)
        {
            errors.under(
                take,
                "`take` says how many of its `permits` a call takes; write `permits = …` too",
            );
        }
        return;
    };
    if settings.count(Key::Permits) == Some(1) {
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
    if let Some(later) = args.later_of(Key::Permits, Key::OncePer) {
        let message = "several holders at a time would each run the job; keep one of `permits` and \
                       `once_per`";
        errors.at(later, message);
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PERMITS, MAX_TAKE};

    #[test]
    fn the_limits_are_those_of_core() {
        assert_eq!(MAX_PERMITS, redlock_core::request::MAX_PERMITS.into());
        assert_eq!(MAX_TAKE, redlock_core::request::MAX_TAKE.into());
    }
}
