//! Figures that are saved are those of paper, whatever the page looks like.

use bench::report;
use serde_json::Value;

use crate::browser::{self, DARK_DESKTOP, DESKTOP, Page, Screen};
use crate::looks::LOOKS;
use crate::pages;

/// Presses every button of one kind and answers what would have been saved: names, types, texts and sizes.
const PRESS_ALL: &str = r#"(async (kind) => {
    const blobs = [];
    const names = [];
    URL.createObjectURL = (blob) => { blobs.push(blob); return "blob:saved"; };
    HTMLAnchorElement.prototype.click = function () { names.push(this.download); };
    for (const button of document.querySelectorAll(".save button")) {
        const before = names.length;
        if (button.textContent !== kind) continue;
        button.click();
        while (names.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return Promise.all(blobs.map(async (blob, place) => {
        const url = await new Promise((resolve) => {
            const reader = new FileReader();
            reader.onload = () => resolve(reader.result);
            reader.readAsDataURL(blob);
        });
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const pen = canvas.getContext("2d", { willReadFrequently: true });
        pen.drawImage(image, 0, 0);
        const colours = new Set(new Uint32Array(pen.getImageData(0, 0, image.width, image.height).data.buffer));
        const corner = [...pen.getImageData(0, 0, 1, 1).data];
        const text = kind === "SVG" ? await blob.text() : "";
        return { name: names[place], type: blob.type, text, width: image.width, colours: colours.size, corner };
    }));
})"#;

/// The smallest contrast of a text of a saved figure with white, and how many texts there are.
const CONTRAST: &str = r#"((text) => {
    const saved = new DOMParser().parseFromString(text, "image/svg+xml");
    const fills = [...saved.querySelectorAll("text")].map((text) => text.getAttribute("fill"));
    return [Math.min(...fills.map((fill) => looks.contrast(fill, "rgb(255, 255, 255)"))), fills.length];
})"#;

/// Figures of the page with every form: ratios, requests, seven means, seven sweeps, and the studies.
fn figures(page: &mut Page) -> usize {
    page.dom().matches("class=\"marks\"").count()
}

fn saved(page: &mut Page, kind: &str) -> Vec<Value> {
    page.evaluate(&format!("{PRESS_ALL}({kind:?})")).as_array().unwrap().clone()
}

fn open(browser: &std::path::Path, screen: Screen) -> Page {
    Page::open(browser, &report::html(&pages::every_form()), screen)
}

#[test]
fn a_saved_figure_does_not_depend_on_the_page() {
    let Some(browser) = browser::find() else { return };
    let in_light = saved(&mut open(&browser, DESKTOP), "SVG");
    let mut page = open(&browser, DARK_DESKTOP);
    let count = figures(&mut page);
    let in_dark = saved(&mut page, "SVG");
    assert_eq!(in_dark.len(), count);
    assert!(in_dark == in_light, "a figure is saved otherwise from a dark page");
    page.evaluate(LOOKS);
    for figure in &in_dark {
        let text = figure["text"].as_str().unwrap();
        assert!(!text.contains("var(") && !text.contains("color-mix"), "{text}");
        assert!(text.contains("rgb(255, 255, 255)"), "it has no paper: {text}");
        let contrast = page.evaluate(&format!("{CONTRAST}({})", figure["text"]));
        assert!(
            contrast[0].as_f64().unwrap() >= 4.5 && contrast[1].as_u64().unwrap() > 3,
            "{contrast} {text}"
        );
        assert!(figure["name"].as_str().unwrap().ends_with(".svg"));
        assert_eq!(figure["type"], "image/svg+xml");
    }
    assert!(page.console.is_empty(), "{:#?}", page.console);
}

#[test]
fn a_saved_picture_is_on_white_with_everything_that_is_drawn() {
    let Some(browser) = browser::find() else { return };
    let mut page = open(&browser, DARK_DESKTOP);
    let count = figures(&mut page);
    let pictures = saved(&mut page, "PNG");
    assert_eq!(pictures.len(), count);
    for picture in &pictures {
        assert_eq!(picture["type"], "image/png");
        assert_eq!(picture["corner"], serde_json::json!([255, 255, 255, 255]), "{picture}");
        assert!(
            picture["colours"].as_u64().unwrap() > 10 && picture["width"].as_u64().unwrap() > 300,
            "{picture}"
        );
    }
    assert!(page.console.is_empty(), "{:#?}", page.console);
}
