//! How the live view looks, in any size: what there is no room for is left out, the least important first.

mod header;
mod notes;
mod run;
mod table;

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders};

use super::model::Model;

const HEADER_LINES: u16 = 3;
/// With a title and three lines, where there is room for them.
const NOTES_LINES: u16 = 4;
/// Below so many lines there are no notes.
const WITH_NOTES: u16 = 17;
/// The least that says something: a title, a head and a row; a title, the figures and their course.
const SECTION_LINES: u16 = 3;

/// Draws everything as it is `now`, counted as the model's times.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, now: Duration) {
    let area = frame.area();
    let [table, run, notes] = lines_of_sections(area.height, table::lines(model), run::lines(model));
    let lines = [HEADER_LINES, table, run, notes].map(Constraint::Length);
    let [header, table, run, notes] = Layout::vertical(lines).areas(area);
    header::draw(frame, header, model, now);
    table::draw(frame, table, model);
    run::draw(frame, run, model, now);
    notes::draw(frame, notes, model);
}

/// How many lines the table, the run and the notes get, of `height` for everything.
fn lines_of_sections(height: u16, table_wants: u16, run_wants: u16) -> [u16; 3] {
    let notes = if height < WITH_NOTES { 0 } else { NOTES_LINES };
    let left = height.saturating_sub(HEADER_LINES + notes);
    let run = run_wants.min((left / 2).max(SECTION_LINES));
    let table = table_wants.min(left.saturating_sub(run));
    if table < SECTION_LINES.min(table_wants) {
        return [0, left, notes];
    }
    [table, left - table, notes]
}

/// What is below the rule with the title.
fn section(frame: &mut Frame<'_>, area: Rect, title: &str) -> Rect {
    let block = Block::new().borders(Borders::TOP).title(Line::from(format!(" {title} ")));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// As people say it: "7 s", "4 min 05 s", "2 h 10 min".
fn time(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests;
