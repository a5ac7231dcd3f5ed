//! Pictures as parts of a page.

use crate::escape::{Escaped, Picture};
use core::fmt;

/// A picture of `dccp-plot` with a name for readers who do not see it, and without what browsers assume anyway.
pub(crate) struct Named<'a> {
    pub(crate) svg: &'a str,
    pub(crate) name: &'a str,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let svg = compact(self.svg);
        let inside = svg.strip_prefix("<svg ").unwrap_or(&svg);
        let name = Escaped(self.name);
        write!(
            f,
            "<svg role=\"img\" aria-label=\"{name}\" {}",
            Picture(inside)
        )
    }
}

/// A third less text: pages have hundreds of pictures.
fn compact(svg: &str) -> String {
    /// The style of the page sets the font. The others are the defaults of SVG.
    const NEEDLESS: [&str; 3] = [
        " opacity=\"1\"",
        " stroke-width=\"1\"",
        " font-family=\"sans-serif\"",
    ];
    const SIZE: &str = "font-size=\"";
    let mut text = svg.replace('\n', "");
    for needless in NEEDLESS {
        text = text.replace(needless, "");
    }
    let mut parts = text.split(SIZE);
    let mut compact = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (size, rest) = part.split_once('"').unwrap_or((part, ""));
        let size = size
            .parse()
            .map_or(size.to_owned(), |size: f64| format!("{size:.1}"));
        compact.extend([SIZE, &size, "\"", rest]);
    }
    compact
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_has_a_name_and_nothing_needless() {
        let svg = "<svg width=\"9\">\n<text opacity=\"1\" font-family=\"sans-serif\" font-size=\"10.483870967741936\" \
            fill=\"#000000\">\nms\n</text>\n<line opacity=\"0.5\" stroke-width=\"1\"/>\n</svg>\n";
        let named = Named {
            svg,
            name: "RTT \"a\"",
        };
        assert_eq!(
            named.to_string(),
            "<svg role=\"img\" aria-label=\"RTT &quot;a&quot;\" width=\"9\"><text font-size=\"10.5\" \
             fill=\"#000000\">ms</text><line opacity=\"0.5\"/></svg>"
        );
    }
}
