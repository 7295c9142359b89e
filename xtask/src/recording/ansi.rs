//! Pictures of terminals as SVG, from text with the escape sequences of colours.

use std::fmt::Write as _;

/// The width of a character, the height of a line, and the space around the text, in pixels.
const CHARACTER: f64 = 7.8;
const LINE: usize = 19;
const MARGIN: usize = 16;

/// The baseline of a line, below its top, in pixels.
const BASELINE: usize = 14;

/// A style of text: the colours and weights that the program writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Style {
    colour: Option<u8>,
    is_strong: bool,
    is_dim: bool,
    is_slanted: bool,
}

impl Style {
    /// Changes the style by the numbers of a sequence that ends with `m`.
    fn apply(&mut self, numbers: &str) {
        for number in numbers.split(';') {
            match number.parse().unwrap_or(0_u8) {
                0 => *self = Self::default(),
                1 => self.is_strong = true,
                2 => self.is_dim = true,
                3 => self.is_slanted = true,
                22 => (self.is_strong, self.is_dim) = (false, false),
                23 => self.is_slanted = false,
                39 => self.colour = None,
                colour @ 31..=37 => self.colour = Some(colour),
                _ => {}
            }
        }
    }

    fn classes(self) -> String {
        let flags = [(self.is_strong, "strong"), (self.is_dim, "dim"), (self.is_slanted, "slanted")];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, class)| class.to_owned());
        let colour = self.colour.map(|colour| format!("c{colour}"));
        flags.chain(colour).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the runs of text of one style on a line, each with its column.
fn runs(line: &str, style: &mut Style) -> Vec<(usize, Style, String)> {
    let mut runs: Vec<(usize, Style, String)> = Vec::new();
    let (mut column, mut rest) = (0, line);
    while let Some(character) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\u{1b}[")
            && let Some(end) = sequence.find(|c: char| c.is_ascii_alphabetic())
        {
            let (numbers, behind) = sequence.split_at(end);
            if let Some(behind) = behind.strip_prefix('m') {
                style.apply(numbers);
                rest = behind;
            } else {
                rest = behind.get(1..).unwrap_or_default();
            }
            continue;
        }
        match runs.last_mut() {
            Some((_, of, text)) if *of == *style => text.push(character),
            _ => runs.push((column, *style, character.to_string())),
        }
        column += 1;
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    runs
}

/// Returns the picture of a screen of this many columns. All characters have the width of one column.
pub(super) fn picture(screen: &str, columns: usize, label: &str) -> String {
    let lines: Vec<&str> = screen.trim_end().lines().collect();
    let height = 2 * MARGIN + lines.len() * LINE;
    #[expect(clippy::cast_precision_loss, reason = "a number of columns")]
    let place = |columns: usize| (columns as f64).mul_add(CHARACTER, MARGIN as f64);
    let width = place(columns).ceil() + f64::from(u32::try_from(MARGIN).unwrap_or_default());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n\
         <style>\n\
         text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d4d4d8; white-space: pre }}\n\
         .strong {{ font-weight: bold; fill: #fafafa }} .dim {{ fill: #a1a1aa }} .slanted {{ font-style: italic }}\n\
         .c31 {{ fill: #fca5a5 }} .c32 {{ fill: #86efac }} .c33 {{ fill: #fcd34d }} .c34 {{ fill: #93c5fd }}\n\
         .c35 {{ fill: #d8b4fe }} .c36 {{ fill: #7dd3fc }} .c37 {{ fill: #fafafa }}\n\
         </style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#18181b\"/>\n",
        escaped(label)
    );
    let mut style = Style::default();
    for (number, line) in lines.iter().enumerate() {
        let y = MARGIN + number * LINE + BASELINE;
        for (column, style, text) in runs(line, &mut style) {
            if text.trim().is_empty() {
                continue;
            }
            let (x, classes) = (place(column), style.classes());
            let class = if classes.is_empty() { String::new() } else { format!(" class=\"{classes}\"") };
            // The length keeps columns in line whatever font there is.
            let length = place(text.chars().count()) - place(0);
            // Writing to a string does not fail.
            let _ = writeln!(
                svg,
                "<text{class} x=\"{x:.1}\" y=\"{y}\" textLength=\"{length:.1}\">{}</text>",
                escaped(&text)
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_of_a_style_stands_at_its_column() {
        let mut style = Style::default();
        let runs = runs("a\u{1b}[31mb\u{1b}[0;1mc\u{1b}[K \u{1b}[22md", &mut style);
        let told: Vec<_> =
            runs.iter().map(|(column, style, text)| (*column, style.classes(), text.as_str())).collect();
        let expected = [
            (0, String::new(), "a"),
            (1, "c31".to_owned(), "b"),
            (2, "strong".to_owned(), "c "),
            (4, String::new(), "d"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_picture_escapes_its_text_and_is_as_large_as_its_screen() {
        let svg = picture("<b> & \"c\"\n\n", 10, "a <label>");
        assert!(svg.contains("&lt;b&gt; &amp; &quot;c&quot;</text>"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 110 51\"") && svg.contains("a &lt;label&gt;"), "{svg}");
    }
}
