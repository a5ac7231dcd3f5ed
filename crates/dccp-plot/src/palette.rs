//! Colours of curves, on light and on dark pages.

use plotters::style::RGBColor;

/// Colours that people with colour vision deficiency distinguish (Okabe and Ito), then four more.
pub(crate) const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(136, 34, 85),
    RGBColor(136, 136, 136),
    RGBColor(102, 68, 0),
];

/// The same colours for a dark page, lighter where they would be hard to see. Black is also the colour of text and axes.
const DARK: [&str; 10] = [
    "#4aa3df", "#f0803c", "#2bbf94", "#dd97bf", "#a6daf7", "#f2c14e", "#e4e6ea", "#c9588f",
    "#a3a3a3", "#b98d52",
];

/// The n-th colour. The colours repeat.
pub(crate) fn colour(n: usize) -> RGBColor {
    COLOURS[n % COLOURS.len()]
}

/// Rules of CSS that adapt the pictures of this crate to a dark page, whose background they show.
///
/// A picture carries its colours as attributes, which rules of a page override. A page puts the rules into
/// `@media (prefers-color-scheme: dark) { … }`.
pub fn dark_style() -> String {
    let replace = |from: &str, to: &str| {
        format!("svg [fill=\"{from}\"]{{fill:{to}}}svg [stroke=\"{from}\"]{{stroke:{to}}}\n")
    };
    let colours = COLOURS.iter().zip(DARK);
    let rules = colours.map(|(RGBColor(r, g, b), dark)| {
        let light = format!("#{r:02X}{g:02X}{b:02X}");
        replace(&light, dark)
    });
    core::iter::once(replace("#FFFFFF", "none"))
        .chain(rules)
        .collect()
}

/// Variables of CSS with the colours of a light or a dark page, `--curve-0` to `--curve-9`. Scripts draw the same curves with them.
pub fn palette_style(is_dark: bool) -> String {
    let light = COLOURS
        .iter()
        .map(|RGBColor(r, g, b)| format!("#{r:02x}{g:02x}{b:02x}"));
    let dark = DARK.iter().map(|&colour| colour.to_owned());
    let colours: Vec<String> = if is_dark {
        dark.collect()
    } else {
        light.collect()
    };
    let variables = (0..)
        .zip(colours)
        .map(|(n, colour): (u32, _)| format!("--curve-{n}:{colour};"));
    format!(":root{{{}}}\n", variables.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_colour_has_its_own_dark_variant() {
        let style = dark_style();
        for RGBColor(r, g, b) in COLOURS {
            let light = format!("#{r:02X}{g:02X}{b:02X}");
            for name in ["fill", "stroke"] {
                let rule = format!("svg [{name}=\"{light}\"]{{{name}:#");
                assert_eq!(style.matches(&rule).count(), 1, "{name} {light}");
            }
        }
        assert_eq!(DARK.iter().collect::<BTreeSet<_>>().len(), DARK.len());
    }

    #[test]
    fn scripts_have_a_variable_for_each_colour() {
        let light = palette_style(false);
        assert!(light.starts_with(":root{--curve-0:#0072b2;--curve-1:#d55e00;"));
        assert_eq!(light.matches("--curve-").count(), COLOURS.len());
        assert!(palette_style(true).contains("--curve-6:#e4e6ea;"));
    }

    #[test]
    fn colours_repeat() {
        assert_eq!(colour(12), COLOURS[2]);
    }
}
