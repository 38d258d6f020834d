//! Data inside HTML: the only two ways in.

use serde::Serialize;

/// `text` for use as the content of an element or of a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // HTML has no way to say the other control characters.
            '\t' | '\n' => escaped.push(character),
            _ if character.is_control() => {}
            _ => escaped.push(character),
        }
    }
    escaped
}

/// `value` as JSON for the content of a `<script>` element: without `<`, so that nothing in it can end the
/// element or open a comment.
pub(super) fn script_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value)
        .expect("plain structs of strings and numbers serialise")
        .replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_data_stays_text() {
        assert_eq!(escape("<b onclick='x'>\"&\u{7}"), "&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;");
    }

    #[test]
    fn data_cannot_end_its_script() {
        let json = script_json(&"</script><!--<script>");
        assert!(!json.contains('<'), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "</script><!--<script>");
    }
}
