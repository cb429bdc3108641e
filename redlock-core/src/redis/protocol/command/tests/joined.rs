//! What an error to a call for many locks says.

use super::*;

#[test]
fn what_refuses_a_call_and_not_each_operation() {
    for (error, is_refused) in [
        ("ERR unknown command 'EVALSHA'", true),
        ("ERR wrong number of arguments for 'mget' command", true),
        (
            "NOPERM this user has no permissions to run the 'mget' command",
            true,
        ),
        (
            "ERR The user executing the script can't run this command or subcommand",
            true,
        ),
        (
            "CROSSSLOT Keys in request don't hash to the same slot",
            true,
        ),
        ("a proxy's own words: -BUSY", true),
        ("NOPERM No permissions to access a key", false),
        ("BUSY Redis is busy running a script", false),
        ("LOADING Redis is loading the dataset in memory", false),
        (
            "READONLY You can't write against a read only replica.",
            false,
        ),
        (
            "OOM command not allowed when used memory > 'maxmemory'. script: f_0, on @user_script:1.",
            false,
        ),
        ("NOREPLICAS Not enough good replicas to write.", false),
    ] {
        let answer = Value::Error(error.as_bytes());
        assert_eq!(is_call_refused(&answer), is_refused, "{error}");
    }
    assert!(!is_call_refused(&Value::Int(0)));
}
