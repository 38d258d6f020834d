//! The figures of the page, as SVG that needs no script.

use std::fmt::Write as _;

use super::document::{Measurement, Probabilities};
use crate::text::number;

/// The figure of probabilities: its whole size, and the margins inside.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 44.0;

/// The figure of clients.
const BAR_WIDTH: f64 = 14.0;
const RUN_GAP: f64 = 26.0;
const BARS_HEIGHT: f64 = 150.0;

/// More runs than this are shown by the table only.
const RUNS_SHOWN: usize = 6;

/// How probable each ratio is over the number of flows, as in the published figure.
pub(super) fn probability_curves(probabilities: &Probabilities) -> String {
    let flows_max =
        probabilities.curves.iter().map(|curve| curve.by_flows.len()).max().unwrap_or(1).max(3) - 1;
    let x = |flows: f64| LEFT + (flows - 1.0) / (flows_max as f64 - 1.0) * (WIDTH - LEFT - RIGHT);
    let y = |probability: f64| TOP + (1.0 - probability) * (HEIGHT - TOP - BOTTOM);
    let mut svg = head(WIDTH, HEIGHT, "Probability of each ratio over the number of busy flows");
    for tenths in (0..=10).step_by(2) {
        let level = f64::from(tenths) / 10.0;
        line(&mut svg, (LEFT, y(level)), (WIDTH - RIGHT, y(level)), "rule");
        label(&mut svg, (LEFT - 8.0, y(level) + 4.0), "end", &format!("{level:.1}"));
    }
    for flows in (0..=flows_max).step_by(8).map(|flows| flows.max(1)) {
        label(&mut svg, (x(flows as f64), HEIGHT - BOTTOM + 18.0), "middle", &flows.to_string());
    }
    label(&mut svg, ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6.0), "middle", "busy flows");
    let asked = x(f64::from(probabilities.flows));
    line(&mut svg, (asked, TOP), (asked, HEIGHT - BOTTOM), "mark");
    let count = probabilities.curves.len().max(1) as f64;
    for (curve, place) in probabilities.curves.iter().zip(0..) {
        let points = curve.by_flows.iter().enumerate().skip(1);
        let path: Vec<String> =
            points.map(|(flows, p)| format!("{:.1},{:.1}", x(flows as f64), y(*p))).collect();
        let opacity = 1.0 - 0.75 * f64::from(place) / count;
        let _ = write!(
            svg,
            "<polyline class=\"curve\" style=\"opacity:{opacity:.2}\" points=\"{}\"><title>at least {} times \
             as much</title>\
             </polyline>",
            path.join(" "),
            curve.ratio
        );
        // The highest point is where curves are furthest apart.
        let peak = curve.by_flows.iter().enumerate().max_by(|left, right| left.1.total_cmp(right.1));
        let (flows, probability) = peak.map_or((0, 0.0), |(flows, probability)| (flows, *probability));
        label(
            &mut svg,
            (x(flows as f64), y(probability) - 4.0),
            "middle",
            &format!("\u{2265} {}\u{d7}", curve.ratio),
        );
    }
    svg.push_str("</svg>");
    svg
}

/// What each client got in each run, and what its queues predict. All figures of a page share `most`, the top
/// of their axis.
pub(super) fn clients(measurement: &Measurement, most: f64) -> String {
    let shown = &measurement.runs[..measurement.runs.len().min(RUNS_SHOWN)];
    let bars: usize = shown.iter().map(|run| run.client_bytes_per_second.len()).sum();
    let width = LEFT + bars as f64 * BAR_WIDTH + shown.len() as f64 * RUN_GAP;
    let title =
        format!("{}, {}: what each client got in each run", measurement.workload, measurement.scenario);
    let mut svg = head(width, BARS_HEIGHT + 40.0, &title);
    let most = if most > 0.0 { most } else { 1.0 };
    let y = |rate: f64| TOP + (1.0 - (rate / most).min(1.0)) * (BARS_HEIGHT - TOP);
    line(&mut svg, (LEFT, BARS_HEIGHT), (width, BARS_HEIGHT), "rule");
    label(&mut svg, (LEFT - 6.0, TOP + 8.0), "end", &number(most * 8.0 / 1e6));
    label(&mut svg, (LEFT - 6.0, BARS_HEIGHT), "end", "0");
    let mut x = LEFT + RUN_GAP / 2.0;
    for (run, nth) in shown.iter().zip(1..) {
        let start = x;
        for (rate, expected) in run.client_bytes_per_second.iter().zip(&run.predicted_bytes_per_second) {
            let (top, tick) = (y(*rate), y(*expected));
            let _ = write!(
                svg,
                "<rect class=\"bar\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                BAR_WIDTH - 3.0,
                BARS_HEIGHT - top
            );
            line(&mut svg, (x - 1.5, tick), (x + BAR_WIDTH - 1.5, tick), "tick");
            x += BAR_WIDTH;
        }
        label(&mut svg, ((start + x) / 2.0, BARS_HEIGHT + 18.0), "middle", &format!("run {nth}"));
        let fairness = format!("{:.3}", run.fairness);
        label(&mut svg, ((start + x) / 2.0, BARS_HEIGHT + 34.0), "middle", &fairness);
        x += RUN_GAP;
    }
    svg.push_str("</svg>");
    svg
}

fn head(width: f64, height: f64, title: &str) -> String {
    // Titles are made of names of our own, but escaping costs nothing.
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" style=\"max-width:{width:.0}px\" \
         role=\"img\"><title>{}</title>",
        crate::report::escape(title)
    )
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), class: &str) {
    let _ = write!(
        svg,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn label(svg: &mut String, at: (f64, f64), anchor: &str, text: &str) {
    let _ = write!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>", at.0, at.1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_cast::samples;

    #[test]
    fn each_ratio_has_a_curve_and_each_client_of_each_run_a_bar() {
        let document = samples::document();
        let curves = probability_curves(&document.probabilities);
        assert_eq!(curves.matches("<polyline").count(), 7);
        let measurement = &document.measurements[0];
        let bars = clients(measurement, 3e6);
        assert_eq!((bars.matches("class=\"bar\"").count(), bars.matches("class=\"tick\"").count()), (24, 24));
        assert!(!curves.contains("NaN") && !bars.contains("NaN"));
    }

    #[test]
    fn many_runs_are_cut_and_nothing_to_show_is_no_panic() {
        let mut measurement = samples::document().measurements.remove(0);
        measurement.runs = vec![measurement.runs[0].clone(); 20];
        assert_eq!(clients(&measurement, 3e6).matches("run ").count(), RUNS_SHOWN);
        measurement.runs.clear();
        assert!(!clients(&measurement, 0.0).contains("NaN"));
        let nothing = Probabilities { queues: 1, flows: 1, curves: Vec::new() };
        assert!(!probability_curves(&nothing).contains("NaN"));
    }
}
