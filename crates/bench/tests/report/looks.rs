//! How the report looks: on a phone, in the dark, on paper.

use bench::report;
use serde_json::json;

use crate::browser::{self, DARK_DESKTOP, DESKTOP, PHONE, Page};
use crate::pages;

/// What can be looked at from within the page.
pub(crate) const LOOKS: &str = include_str!("looks.js");

/// A4 within the margins that the page asks for, in the pixels of style sheets.
const PAPER: (u32, u32) = (703, 1031);

fn assert_good(page: &mut Page, look: &str) {
    let wrong = page.evaluate(&format!("looks.{look}"));
    assert_eq!(wrong, json!([]), "{look}");
}

fn unfold(page: &mut Page) {
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
}

#[test]
fn a_phone_shows_everything_within_its_width() {
    let Some(browser) = browser::find() else { return };
    for results in [pages::every_form(), pages::of_three_servers(), pages::of_factors_alone()] {
        let mut page = Page::open(&browser, &report::html(&results), PHONE);
        page.evaluate(LOOKS);
        assert_good(&mut page, "tooWide(390)");
        assert_good(&mut page, "cutOff()");
        assert_good(&mut page, "onEachOther()");
        assert_good(&mut page, "vanished()");
        unfold(&mut page);
        assert_good(&mut page, "tooWide(390)");
    }
}

#[test]
fn a_finger_hits_what_can_be_pressed_and_sees_what_it_says() {
    let Some(browser) = browser::find() else { return };
    let mut page = Page::open(&browser, &report::html(&pages::every_form()), PHONE);
    page.evaluate(LOOKS);
    assert_good(&mut page, "tooSmall()");
    assert_good(&mut page, "tooltipsOutside()");
}

#[test]
fn no_label_or_table_is_cut_off_or_stands_on_another() {
    let Some(browser) = browser::find() else { return };
    for results in [pages::every_form(), pages::of_three_servers(), pages::of_factors_alone()] {
        let mut page = Page::open(&browser, &report::html(&results), DESKTOP);
        page.evaluate(LOOKS);
        unfold(&mut page);
        assert_good(&mut page, "scrolling()");
        assert_good(&mut page, "tooWide(innerWidth)");
        assert_good(&mut page, "cutOff()");
        assert_good(&mut page, "onEachOther()");
        assert_good(&mut page, "vanished()");
    }
}

#[test]
fn texts_and_marks_stand_out_in_light_in_the_dark_and_on_paper() {
    let Some(browser) = browser::find() else { return };
    for results in [pages::every_form(), pages::of_three_servers()] {
        let mut page = Page::open(&browser, &report::html(&results), DARK_DESKTOP);
        page.evaluate(LOOKS);
        unfold(&mut page);
        for (media, is_dark) in [("screen", true), ("screen", false), ("print", true)] {
            page.show_as(media, is_dark);
            assert_good(&mut page, "hardToRead()");
            assert_good(&mut page, "pale()");
            assert_good(&mut page, "alike(25)");
            let paper = page.evaluate("getComputedStyle(document.querySelector('.panel')).backgroundColor");
            assert_eq!(paper == json!("rgb(255, 255, 255)"), media == "print" || !is_dark, "{paper}");
        }
    }
}

#[test]
fn paper_cuts_nothing() {
    let Some(browser) = browser::find() else { return };
    let (width, height) = PAPER;
    for results in [pages::every_form(), pages::of_three_servers(), pages::of_factors_alone()] {
        let mut page = Page::open(&browser, &report::html(&results), DESKTOP);
        page.evaluate(LOOKS);
        unfold(&mut page);
        page.show_as("print", false);
        // Unlike a narrow window, paper does not have the figures drawn anew.
        page.evaluate(&format!("document.documentElement.style.width = '{width}px'"));
        assert_good(&mut page, &format!("tooWide({width})"));
        assert_good(&mut page, &format!("brokenOnPaper({height})"));
    }
}
