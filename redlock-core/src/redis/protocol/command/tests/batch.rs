//! What an error to a call for many locks says.

use super::*;

#[test]
fn what_refuses_a_call_and_not_each_operation() {
    let inside = "ERR Error running script (call to f_0): @user_script:1: @user_script: 1: ";
    let no_command = "NOPERM this user has no permissions to run the 'mget' command";
    for (error, is_refused) in [
        ("ERR unknown command 'EVALSHA'".to_owned(), true),
        (
            "ERR wrong number of arguments for 'mget' command".to_owned(),
            true,
        ),
        (no_command.to_owned(), true),
        (format!("{inside}-{no_command}"), true),
        (
            format!("{inside}The user executing the script can't run this command or subcommand"),
            true,
        ),
        (
            "CROSSSLOT Keys in request don't hash to the same slot".to_owned(),
            true,
        ),
        ("a proxy's own words: -BUSY".to_owned(), true),
        ("NOPERM No permissions to access a key".to_owned(), false),
        ("BUSY Redis is busy running a script".to_owned(), false),
        (
            "LOADING Redis is loading the dataset in memory".to_owned(),
            false,
        ),
        (
            "READONLY You can't write against a read only replica.".to_owned(),
            false,
        ),
        (format!("{inside}-READONLY You can't write"), false),
        (format!("{inside}-OOM command not allowed"), false),
        (
            "NOREPLICAS Not enough good replicas to write.".to_owned(),
            false,
        ),
    ] {
        let answer = Value::Error(error.as_bytes());
        assert_eq!(is_call_refused(&answer), is_refused, "{error}");
    }
    assert!(!is_call_refused(&Value::Int(0)));
}
