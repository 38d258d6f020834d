//! The run under way: its last seconds, and what each client does.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Sparkline;

use super::super::model::{Model, Running};
use super::super::window::Figures;
use super::{section, time};
use crate::terminal::printable;
use crate::text::{delay, number};

/// The course of the rate: what it wants, and what it takes where there is room.
const COURSE_LINES: u16 = 3;
const COURSE_LINES_MAX: u16 = 8;
/// The bar of the fastest client.
const BAR_MAX: u16 = 40;
/// Columns of a client's number and rate.
const CLIENT_COLUMNS: u16 = 28;

/// How many lines it wants.
pub(super) fn lines(model: &Model) -> u16 {
    let clients = model.running.as_ref().map_or(0, |running| running.beginning.clients);
    let clients = if clients > 1 { u16::try_from(clients).unwrap_or(u16::MAX) } else { 0 };
    // A title and the figures.
    clients.saturating_add(2 + COURSE_LINES)
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model, now: Duration) {
    let Some(running) = &model.running else {
        section(frame, area, "no run yet");
        return;
    };
    let inner = section(frame, area, &printable(&title(running, now)));
    if !running.beginning.is_here {
        let words = "The clients are on other machines; what they did is known when the run is over.";
        frame.render_widget(Line::from(words), inner);
        return;
    }
    let figures = running.window.figures();
    let clients = figures.as_ref().map_or(&[][..], |figures| &figures.clients);
    let client_lines = if clients.len() > 1 { clients.len() as u16 } else { 0 };
    let course = inner.height.saturating_sub(1 + client_lines).clamp(1, COURSE_LINES_MAX);
    let lines = [Constraint::Length(1), Constraint::Length(course), Constraint::Fill(1)];
    let [told, course, by_client] = Layout::vertical(lines).areas(inner);
    frame.render_widget(Line::from(words(figures.as_ref(), inner.width)), told);
    draw_course(frame, course, running);
    if clients.len() > 1 {
        draw_clients(frame, by_client, clients);
    }
}

fn title(running: &Running, now: Duration) -> String {
    let run = &running.beginning;
    let which = format!("{} at {}, run {}", run.arm, delay(run.rtt_ms), run.repetition);
    match running.is_over {
        true => format!("last: {which}"),
        false => format!("now: {which}, {}", time(now.saturating_sub(running.since))),
    }
}

fn words(figures: Option<&Figures>, width: u16) -> String {
    let Some(Figures { rate, bytes_per_second, mean_ms, p95_ms, .. }) = figures else {
        return "getting ready".to_owned();
    };
    let rate = format!("{} op/s", number(*rate));
    let (Some(mean_ms), Some(p95_ms)) = (mean_ms, p95_ms) else {
        return format!("{rate}, none complete in the last seconds");
    };
    let (mean, p95) = (number(*mean_ms), number(*p95_ms));
    match width < 60 {
        true => format!("{rate}, mean {mean}, 95 % {p95} ms"),
        false => {
            let megabytes = number(bytes_per_second / 1e6);
            format!("{rate}, {megabytes} MB/s, mean {mean} ms, 95 % within {p95} ms")
        }
    }
}

/// The rates, the latest on the right.
fn draw_course(frame: &mut Frame<'_>, area: Rect, running: &Running) {
    let skipped = running.window.rates().len().saturating_sub(usize::from(area.width));
    let rates: Vec<u64> = running.window.rates().skip(skipped).map(|rate| rate.round() as u64).collect();
    frame.render_widget(Sparkline::default().data(&rates), area);
}

fn draw_clients(frame: &mut Frame<'_>, area: Rect, clients: &[f64]) {
    let room = usize::from(area.height);
    let shown = if clients.len() <= room { clients.len() } else { room.saturating_sub(1) };
    let fastest = clients.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let bar_max = area.width.saturating_sub(CLIENT_COLUMNS).min(BAR_MAX);
    let client = |(rate, nth): (&f64, usize)| {
        let bar = "▪".repeat((rate / fastest * f64::from(bar_max)).round() as usize);
        let words = format!("client {nth:<4} {:>10} op/s  ", number(*rate));
        Line::from(vec![Span::raw(words), Span::styled(bar, Style::new().add_modifier(Modifier::DIM))])
    };
    let mut lines: Vec<Line<'_>> = clients.iter().zip(1..).take(shown).map(client).collect();
    if shown < clients.len() {
        lines.push(Line::from(format!("and {} more", clients.len() - shown)));
    }
    for (line, row) in lines.into_iter().zip(area.rows()) {
        frame.render_widget(line, row);
    }
}
