//! What is on screens of several sizes.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::model::tests::{beginning, measured, watched};
use super::super::model::{Event, Model};
use super::*;
use crate::workload::Reading;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The lines of a screen of this size at second 75.
fn screen(model: &Model, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, seconds(75))).unwrap();
    let cells = terminal.backend().buffer().content().chunks(usize::from(width));
    let line =
        |cells: &[ratatui::buffer::Cell]| cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
    cells.map(|cells| line(cells).trim_end().to_owned()).collect()
}

fn has(lines: &[String], words: &[&str]) -> bool {
    lines.iter().any(|line| words.iter().all(|word| line.contains(word)))
}

/// Both versions measured once, and a run of `clients` clients under way since second 70.
fn working(clients: u32) -> Model {
    let mut model = Model::new(watched(12));
    for (version, value) in [("3", 1471.0), ("4.1", 1600.0), ("4.1", 1700.0)] {
        model.apply(Event::RunBegins(beginning("v3", clients)), seconds(0));
        model.apply(measured(version, value, &[]), seconds(20));
        model.apply(Event::RunDone, seconds(60));
    }
    model.apply(Event::Doubt("The processor was busy.".to_owned()), seconds(70));
    model.apply(Event::Step("locked-read at 10 ms".to_owned()), seconds(70));
    model.apply(Event::RunBegins(beginning("v4.1", clients)), seconds(70));
    for second in 71..=75 {
        let done = (second - 70) * 100;
        let reading = Reading {
            began: Some(seconds(70)),
            clients: (0..u64::from(clients)).map(|client| done * (client + 1)).collect(),
            bytes: done * 1_000_000,
            call_us: done * 2_000,
            calls: [vec![0; 40], vec![done]].concat(),
            ..Reading::default()
        };
        model.sample(reading, seconds(second));
    }
    model
}

#[test]
fn a_usual_terminal_shows_everything() {
    let lines = screen(&working(3), 80, 24);
    assert!(
        has(&lines[..1], &["server builtin, client builtin", "q: stop and keep what is complete"]),
        "{lines:#?}"
    );
    assert_eq!(lines[1], "locked-read at 10 ms, v4.1, run 2 of 5");
    // Three runs took a minute, which was over a quarter of a minute ago, and nine are left.
    assert!(has(&lines[2..3], &["3 of 12 runs, 1 min 15 s so far, about 2 min 45 s left"]), "{lines:#?}");
    assert!(has(&lines, &["locked-read so far"]), "{lines:#?}");
    assert!(has(&lines, &["version", "delay", "median", "spread", "requests/op", "runs"]), "{lines:#?}");
    assert!(has(&lines, &["v3 ", "10 ms", "1,471 op/s", "–", "2.00", "1"]), "{lines:#?}");
    assert!(has(&lines, &["v4.1", "10 ms", "1,650 op/s", "6 %", "2.00", "2"]), "{lines:#?}");
    assert!(has(&lines, &["now: v4.1 at 10 ms, run 2, 5 s"]), "{lines:#?}");
    assert!(has(&lines, &["600 op/s, 100 MB/s, mean 2.00 ms, 95 % within"]), "{lines:#?}");
    assert!(has(&lines, &["█████"]), "the course of the rate");
    assert!(
        has(&lines, &["client 1", "100 op/s", "▪"]) && has(&lines, &["client 3", "300 op/s"]),
        "{lines:#?}"
    );
    assert!(has(&lines, &["notes and doubts, 1 so far"]) && has(&lines, &["The processor was busy."]));
}

#[test]
fn a_small_terminal_shows_the_most_important() {
    let lines = screen(&working(3), 40, 10);
    assert!(has(&lines[..1], &["q: stop"]), "{lines:#?}");
    assert_eq!(lines[1], "locked-read at 10 ms, v4.1, run 2 of 5");
    assert!(has(&lines[2..3], &["3 of 12 runs, about 2 min 45 s left"]), "{lines:#?}");
    assert!(has(&lines, &["v3", "10 ms", "1,471 op/s", "1"]), "{lines:#?}");
    assert!(!has(&lines, &["requests/op"]), "{lines:#?}");
    assert!(has(&lines, &["600 op/s, mean 2.00, 95 %"]), "{lines:#?}");
}

#[test]
fn many_clients_and_many_rows_are_cut_with_a_word() {
    let mut model = working(40);
    for delay in 0..30 {
        let mut run = beginning("v3", 40);
        run.rtt_ms = f64::from(delay);
        model.apply(measured(&format!("4.{delay}"), 5.0, &[]), seconds(75));
    }
    let lines = screen(&model, 80, 24);
    let shown = lines.iter().filter(|line| line.starts_with("client ")).count();
    assert!(shown > 0 && has(&lines, &[&format!("and {} more", 40 - shown)]), "{lines:#?}");
    assert!(has(&lines, &["the last", "of 31"]) && has(&lines, &["v4.29"]), "{lines:#?}");
}

#[test]
fn it_says_so_when_there_is_nothing_to_show() {
    let mut model = Model::new(watched(12));
    let lines = screen(&model, 80, 24);
    assert!(has(&lines, &["nothing is measured yet"]) && has(&lines, &["no run yet"]), "{lines:#?}");
    assert!(
        has(&lines, &["0 of 12 runs, 1 min 15 s so far"]) && has(&lines, &["no doubts so far"]),
        "{lines:#?}"
    );
    let mut elsewhere = beginning("v3", 5);
    elsewhere.is_here = false;
    model.apply(Event::RunBegins(elsewhere), seconds(70));
    assert!(has(&screen(&model, 80, 24), &["The clients are on other machines"]));
    model.apply(Event::RunBegins(beginning("v3", 5)), seconds(70));
    assert!(has(&screen(&model, 80, 24), &["getting ready"]));
    model.apply(Event::RunDone, seconds(71));
    model.apply(Event::Step("create: preparing".to_owned()), seconds(71));
    model.apply(Event::Stopping, seconds(72));
    let lines = screen(&model, 80, 24);
    assert!(has(&lines, &["stopping, what is complete is kept"]) && has(&lines, &["create: preparing"]));
    assert!(has(&lines, &["last: v3 at 10 ms, run 2"]), "{lines:#?}");
}

#[test]
fn every_size_can_be_drawn() {
    let models = [Model::new(watched(0)), working(1), working(40)];
    for (width, height) in [(1, 1), (1, 40), (200, 1), (2, 3), (13, 7), (40, 10), (59, 17), (300, 100)] {
        for model in &models {
            assert_eq!(screen(model, width, height).len(), usize::from(height));
        }
    }
}

#[test]
fn times_are_said_as_people_say_them() {
    let said = [7, 245, 7_800].map(|length| time(seconds(length)));
    assert_eq!(said, ["7 s", "4 min 05 s", "2 h 10 min"]);
}
