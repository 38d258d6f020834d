//! What is measured, and how far it is.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Gauge;

use super::super::model::Model;
use super::time;
use crate::terminal::printable;
use crate::text::delay;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model, now: Duration) {
    let lines = [Constraint::Length(1); 3];
    let [plan, step, gauge] = Layout::vertical(lines).areas(area);
    let keys = keys(model.is_stopping, plan.width);
    let [what, how] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(keys.chars().count() as u16)])
            .areas(plan);
    let server = format!("server {}, client {}", model.watched.server, model.watched.client);
    frame.render_widget(Line::from(printable(&server)), what);
    frame.render_widget(Line::from(keys).style(Modifier::BOLD), how);
    frame.render_widget(Line::from(printable(&under_way(model))).style(Modifier::BOLD), step);
    let share = model.runs_done as f64 / model.watched.runs_total.max(1) as f64;
    let progress = Gauge::default()
        .ratio(share.clamp(0.0, 1.0))
        .gauge_style(Style::new().add_modifier(Modifier::DIM))
        .label(how_far(model, now, gauge.width));
    frame.render_widget(progress, gauge);
}

fn keys(is_stopping: bool, width: u16) -> &'static str {
    match (is_stopping, width < 60) {
        (true, false) => " stopping, what is complete is kept",
        (true, true) => " stopping",
        (false, false) => " q: stop and keep what is complete",
        (false, true) => " q: stop",
    }
}

fn under_way(model: &Model) -> String {
    match model.running.as_ref().filter(|running| !running.is_over) {
        Some(running) => {
            let run = &running.beginning;
            let (name, delay) = (&run.name, delay(run.rtt_ms));
            format!("{name} at {delay}, {}, run {} of {}", run.arm, run.repetition, run.repetitions)
        }
        None => model.step.clone(),
    }
}

fn how_far(model: &Model, now: Duration, width: u16) -> String {
    let runs = format!("{} of {} runs", model.runs_done, model.watched.runs_total);
    let left = model.time_left(now).map(|left| format!(", about {} left", time(left)));
    let left = left.unwrap_or_default();
    match width < 60 {
        true => format!("{runs}{left}"),
        false => format!("{runs}, {} so far{left}", time(now)),
    }
}
