//! Several names in one lock, in the object style and by the attribute: what a call may name, and
//! calls below a holder of some of the names.

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::{LeaseHandle, LockError, current_lease, lock, redlock};

use crate::runtime::fixture::{SOON, registry, start};

fn is_shared(lease: &LeaseHandle) -> bool {
    current_lease().is_some_and(|above| above.token_id() == lease.token_id())
}

#[tokio::test]
async fn a_set_serves_each_set_in_it_at_any_depth() {
    let (nodes, redlock) = start(3).await;
    let below = async {
        for part in [&["a"][..], &["b", "c"], &["c", "a", "b"]] {
            let shares = lock(part).run(async {
                let part = current_lease().expect("it runs under its lock");
                assert!(is_shared(&part));
                // Below a share as well: what is above it counts.
                let all = lock(["c", "b", "a"]).acquire().await?;
                let is_same = all.token_id() == part.token_id();
                all.release().await;
                Ok::<_, LockError>(is_same)
            });
            assert!(shares.await.unwrap().unwrap(), "{part:?}");
        }
        // Other names are another lock, also below it.
        let other = lock(["d", "e"]).acquire().await.unwrap();
        assert!(current_lease().is_none_or(|above| above.token_id() != other.token_id()));
        other.release().await;
    };
    let work = lock(["a", "b", "c"]).run(below);
    registry(&redlock).scope(work).await.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

#[redlock(resource = ["b", "c"], wait = "forever", name = "sets::inner")]
async fn inner() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["a", "b"], name = "sets::outer")]
async fn outer() -> Result<(), LockError> {
    inner().await
}

#[redlock(resource = "b", name = "sets::other_part")]
async fn other_part() -> Result<(), LockError> {
    inner().await
}

#[redlock(resource = "c", name = "sets::part")]
async fn part() -> Result<(), LockError> {
    other_part().await
}

#[tokio::test]
async fn an_overlap_is_refused_before_it_waits_for_itself() {
    let (nodes, redlock) = start(3).await;
    let refused = registry(&redlock).scope(outer()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`b + c` cannot be locked: `sets::inner` runs below `sets::outer`, which holds `b` of it and \
         not `c`, and would wait for itself; lock `c` in `sets::outer` too"
    );
    assert!(matches!(refused.kind(), LockErrorKind::Invalid(_)));

    // Two holders that have all of it together: it is one lease that a call shares.
    let refused = registry(&redlock).scope(part()).await.unwrap_err();
    let fix = "; lock `b` in `sets::part` too";
    assert!(refused.to_string().ends_with(fix), "{refused}");
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_refusal_by_a_holder_of_other_names_says_which_it_has() {
    let (nodes, redlock) = start(3).await;
    let work = async {
        let held = lock(["a", "b"]).name("sets::held").acquire().await.unwrap();
        let refused = lock(["b", "c"]).acquire().await.unwrap_err().to_string();
        assert!(refused.starts_with("`b + c` is held by "), "{refused}");
        for part in [
            " (name `b`) for ",
            "`sets::held` (",
            ", which has `a + b`, for ",
        ] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        let refused = lock(["b", "a"]).acquire().await.unwrap_err().to_string();
        assert!(!refused.contains("which has"), "the same names: {refused}");
        held.release().await;
    };
    registry(&redlock).scope(work).await;
    nodes.assert_no_lock_keys(SOON).await;
}
