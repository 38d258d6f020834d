//! What the runs of the experiment have given so far.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::Modifier;
use ratatui::text::Line;
use ratatui::widgets::{Row, Table};

use super::super::model::{Model, Row as Arm};
use super::section;
use crate::terminal::printable;
use crate::text::{delay, number, per_operation, percent};

/// Narrower tables have only the most important columns.
const ALL_COLUMNS_FROM: u16 = 60;

/// How many lines it wants.
pub(super) fn lines(model: &Model) -> u16 {
    // A title and a head.
    u16::try_from(model.rows.len()).unwrap_or(u16::MAX).saturating_add(2)
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let room = usize::from(area.height.saturating_sub(2));
    let rows = &model.rows[model.rows.len().saturating_sub(room)..];
    let title = match model.experiment() {
        None => "nothing is measured yet".to_owned(),
        Some(experiment) if rows.len() < model.rows.len() => {
            format!("{experiment} so far, the last {} of {}", rows.len(), model.rows.len())
        }
        Some(experiment) => format!("{experiment} so far"),
    };
    let inner = section(frame, area, &printable(&title));
    if model.rows.is_empty() {
        return;
    }
    let columns = columns(&model.rows, inner.width);
    let head = columns.iter().map(|column| column.line(column.title.to_owned()));
    let body = rows.iter().map(|row| {
        Row::new(columns.iter().map(|column| column.line(printable(&(column.text)(row)))).collect::<Vec<_>>())
    });
    let widths: Vec<Constraint> = columns.iter().map(|column| column.width).collect();
    let head = Row::new(head.collect::<Vec<_>>()).style(Modifier::DIM);
    frame.render_widget(Table::new(body, widths).header(head).column_spacing(2), inner);
}

struct Column {
    title: &'static str,
    width: Constraint,
    is_number: bool,
    text: fn(&Arm) -> String,
}

impl Column {
    fn line(&self, text: String) -> Line<'static> {
        let alignment = if self.is_number { Alignment::Right } else { Alignment::Left };
        Line::from(text).alignment(alignment)
    }
}

fn columns(rows: &[Arm], width: u16) -> Vec<Column> {
    let text = |title, text| Column { title, width: Constraint::Fill(1), is_number: false, text };
    let figure =
        |title, width, text| Column { title, width: Constraint::Length(width), is_number: true, text };
    let mut columns = vec![text("version", |row| row.arm.clone())];
    if rows.iter().any(|row| !row.what.is_empty()) {
        columns.insert(0, text("part", |row| row.what.clone()));
    }
    columns.push(figure("delay", 7, |row| delay(row.rtt_ms)));
    columns.push(figure("median", 12, |row| format!("{} {}", number(row.median()), row.unit)));
    let spread = |row: &Arm| row.spread().map_or_else(|| "–".to_owned(), percent);
    let requests = |row: &Arm| row.requests_per_operation().map_or_else(|| "–".to_owned(), per_operation);
    if width >= ALL_COLUMNS_FROM {
        columns.push(figure("spread", 7, spread));
        columns.push(figure("requests/op", 11, requests));
    }
    columns.push(figure("runs", 4, |row| row.runs().to_string()));
    columns
}
