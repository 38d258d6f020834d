//! The last notes and doubts.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::super::model::Model;
use super::section;
use crate::terminal::printable;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    if area.is_empty() {
        return;
    }
    let title = match model.notes.len() {
        0 => "no doubts so far".to_owned(),
        count => format!("notes and doubts, {count} so far, the latest first"),
    };
    let inner = section(frame, area, &title);
    let latest = model.notes.iter().rev().take(usize::from(inner.height));
    let lines: Vec<Line<'_>> = latest.map(|note| Line::from(printable(note))).collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), inner);
}
