//! What the command says about itself: completions, manual, and reports on standard error.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::process::{Command, Output};

fn primetime(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_primetime")).args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn every_shell_has_completions_of_every_subcommand() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = primetime(&["completions", shell]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shell}");
        for word in ["serve", "bench", "mount", "completions", "manual", "--no-root-squash"] {
            assert!(script.contains(word.trim_start_matches('-')), "{word} for {shell}");
        }
    }
    assert_eq!(primetime(&["completions", "csh"]).status.code(), Some(3));
}

#[test]
fn there_is_a_manual_page_for_every_subcommand() {
    let place = tempfile::tempdir().unwrap();
    assert!(primetime(&["manual", place.path().to_str().unwrap()]).status.success());
    for page in [
        "primetime.1",
        "primetime-serve.1",
        "primetime-bench.1",
        "primetime-bench-list.1",
        "primetime-mount.1",
    ] {
        let text = fs::read_to_string(place.path().join(page)).unwrap();
        assert!(text.contains(".TH primetime"), "{page}: {text}");
    }
    let serve = fs::read_to_string(place.path().join("primetime-serve.1")).unwrap();
    assert!(serve.contains("no\\-root\\-squash"), "{serve}");
    let missing = primetime(&["manual", place.path().join("missing").to_str().unwrap()]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(stderr(&missing).contains("name an existing directory"), "{}", stderr(&missing));
}

#[test]
fn levels_that_are_none_are_refused_in_one_sentence() {
    let output = primetime(&["serve", "/nonexistent", "--forget", "--log", "rpc=loud"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("--log info,rpc=debug"), "{}", stderr(&output));
}
