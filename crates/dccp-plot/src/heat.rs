//! Heat maps: a value for each pair of names, as a colour and as a number.

use crate::{Area, DrawError, FONT, LEGEND_WIDTH, PlotError, WIDTH};
use crate::{float, is_drawable, no_points, number, picture, shorten};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// How values become colours. Values beyond the ends have the colours of the ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shades {
    /// Two colours that grow from a middle value: red below, blue above.
    Diverging {
        /// The value without colour.
        middle: f64,
        /// The distance from the middle to both ends.
        reach: f64,
    },
    /// One colour that grows from the first value to the second.
    Sequential {
        /// The value with the lightest colour.
        from: f64,
        /// The value with the darkest colour.
        to: f64,
    },
}

/// A picture of a table whose cells have colours.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// The line at the top. Can be empty.
    pub title: String,
    /// The meaning of the columns.
    pub x_label: String,
    /// The meaning of the rows.
    pub y_label: String,
    /// The meaning of the values, with their unit.
    pub value_label: String,
    /// The names of the columns, from left to right.
    pub columns: Vec<String>,
    /// The names of the rows, from top to bottom.
    pub rows: Vec<String>,
    /// The values, row by row. `None` is drawn as a dash.
    pub values: Vec<Vec<Option<f64>>>,
    /// The colours.
    pub shades: Shades,
}

/// From low to high, with as many steps on both sides of the middle. (`ColorBrewer`, `RdBu`.)
const DIVERGING: [RGBColor; 9] = [
    RGBColor(178, 24, 43),
    RGBColor(214, 96, 77),
    RGBColor(244, 165, 130),
    RGBColor(253, 219, 199),
    RGBColor(247, 247, 247),
    RGBColor(209, 229, 240),
    RGBColor(146, 197, 222),
    RGBColor(67, 147, 195),
    RGBColor(33, 102, 172),
];
/// From low to high. (`ColorBrewer`, `Blues`.)
const SEQUENTIAL: [RGBColor; 9] = [
    RGBColor(247, 251, 255),
    RGBColor(222, 235, 247),
    RGBColor(198, 219, 239),
    RGBColor(158, 202, 225),
    RGBColor(107, 174, 214),
    RGBColor(66, 146, 198),
    RGBColor(33, 113, 181),
    RGBColor(8, 81, 156),
    RGBColor(8, 48, 107),
];
/// Texts on these colours stay as they are on a dark page, because the colours do.
const DARK_TEXT: RGBColor = RGBColor(27, 30, 35);
const LIGHT_TEXT: RGBColor = RGBColor(253, 253, 253);

const ROW_HEIGHT: i32 = 34;
/// The height of a colour of the legend.
pub(crate) const SWATCH: i32 = 20;
/// Pixels for the names of rows.
const NAMES_WIDTH: i32 = 160;
/// Pixels of a letter, for names that must have room.
pub(crate) const LETTER: i32 = 8;

impl Shades {
    pub(crate) fn colours(self) -> &'static [RGBColor; 9] {
        match self {
            Self::Diverging { .. } => &DIVERGING,
            Self::Sequential { .. } => &SEQUENTIAL,
        }
    }

    fn ends(self) -> (f64, f64) {
        match self {
            Self::Diverging { middle, reach } => (middle - reach, middle + reach),
            Self::Sequential { from, to } => (from, to),
        }
    }

    fn of(self, value: f64) -> RGBColor {
        let (low, high) = self.ends();
        let colours = self.colours();
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        // Each colour has an equal span of values.
        let begin = |n: usize| float(n) / float(colours.len());
        colours[(1..colours.len()).filter(|&n| share >= begin(n)).count()]
    }
}

/// Whether light text is easier to read on this colour than dark text.
fn is_dark(RGBColor(r, g, b): RGBColor) -> bool {
    let luminance = 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
    luminance < 140.0
}

/// A value with about three digits, as much as has room in a cell.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    let digits = if size < 10.0 {
        2
    } else {
        usize::from(size < 100.0)
    };
    let text = format!("{value:.digits$}");
    // No negative zero.
    if text.bytes().all(|byte| b"-0.".contains(&byte)) {
        return text.trim_start_matches('-').to_owned();
    }
    text
}

impl HeatMap {
    /// Draws the heat map.
    ///
    /// # Errors
    /// No cell has a value, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        let values = self.values.iter().flatten().flatten();
        if !values.copied().any(is_drawable) {
            return Err(no_points());
        }
        let rows = i32::try_from(self.rows.len()).unwrap_or(i32::MAX);
        let height = rows.saturating_mul(ROW_HEIGHT) + self.head_height() + 12;
        let legend = 10 * 20 + 60;
        let height = u32::try_from(height.max(legend)).unwrap_or(u32::MAX);
        picture(&self.title, height, |area| self.draw(area))
    }

    fn cell_width(&self) -> i32 {
        let columns = i32::try_from(self.columns.len()).unwrap_or(i32::MAX);
        let room = i32::try_from(WIDTH - LEGEND_WIDTH).unwrap_or(i32::MAX) - NAMES_WIDTH - 24;
        (room / columns.max(1)).clamp(20, 110)
    }

    /// Whether the names of columns stand upright, because the columns are narrow.
    fn is_upright(&self) -> bool {
        self.longest_name() * LETTER > self.cell_width()
    }

    fn longest_name(&self) -> i32 {
        let lengths = self
            .columns
            .iter()
            .map(|name| shorten(name).chars().count());
        i32::try_from(lengths.max().unwrap_or(0)).unwrap_or(i32::MAX)
    }

    /// Pixels for the label and the names of the columns.
    fn head_height(&self) -> i32 {
        let names = if self.is_upright() {
            self.longest_name() * LETTER
        } else {
            20
        };
        28 + names
    }

    fn draw(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let (width, top) = (self.cell_width(), self.head_height());
        let columns = i32::try_from(self.columns.len()).unwrap_or(i32::MAX);
        let middle = NAMES_WIDTH + width.saturating_mul(columns) / 2;
        write(area, &self.x_label, (middle, 12), Look::label())?;
        let corner = Look::label().to(HPos::Right);
        write(area, &self.y_label, (NAMES_WIDTH - 10, top - 10), corner)?;
        for (name, x) in self
            .columns
            .iter()
            .zip((NAMES_WIDTH..).step_by(step(width)))
        {
            self.draw_column_name(area, name, (x + width / 2, top))?;
        }
        let rows = self.rows.iter().zip(&self.values);
        for ((name, values), y) in rows.zip((top..).step_by(step(ROW_HEIGHT))) {
            let look = Look::name().to(HPos::Right);
            let at = (NAMES_WIDTH - 10, y + ROW_HEIGHT / 2);
            write(area, &shorten(name), at, look)?;
            let values = values.iter().take(self.columns.len());
            for (value, x) in values.zip((NAMES_WIDTH..).step_by(step(width))) {
                let text = value.map(short);
                let cell = Cell {
                    at: (x, y),
                    size: (width, ROW_HEIGHT),
                };
                cell.draw(area, self.shades, *value, text)?;
            }
        }
        let left = i32::try_from(WIDTH - LEGEND_WIDTH).unwrap_or(i32::MAX);
        draw_legend(area, left, &self.value_label, self.shades)
    }

    fn draw_column_name(
        &self,
        area: &Area<'_>,
        name: &str,
        (x, bottom): (i32, i32),
    ) -> Result<(), DrawError> {
        if !self.is_upright() {
            return write(area, &shorten(name), (x, bottom - 12), Look::name());
        }
        let style = (FONT, 13)
            .into_font()
            .transform(FontTransform::Rotate270)
            .into_text_style(area)
            .pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(shorten(name), (x, bottom - 6), style))
    }
}

/// A place of a value: the corner at the top left, width and height.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) at: (i32, i32),
    pub(crate) size: (i32, i32),
}

impl Cell {
    /// Draws a value as a colour with a text, or a dash.
    pub(crate) fn draw(
        self,
        area: &Area<'_>,
        shades: Shades,
        value: Option<f64>,
        text: Option<String>,
    ) -> Result<(), DrawError> {
        let ((x, y), (width, height)) = (self.at, self.size);
        let middle = (x + width / 2, y + height / 2);
        let Some((value, text)) = value.filter(|value| is_drawable(*value)).zip(text) else {
            return write(area, "–", middle, Look::name());
        };
        let fill = shades.of(value);
        let corners = [(x + 1, y + 1), (x + width - 1, y + height - 1)];
        area.draw(&Rectangle::new(corners, fill.filled()))?;
        let colour = if is_dark(fill) { LIGHT_TEXT } else { DARK_TEXT };
        let look = Look {
            colour,
            ..Look::name()
        };
        write(area, &text, middle, look)
    }
}

/// Draws the colours with the values at which they begin, the greatest on top.
pub(crate) fn draw_legend(
    area: &Area<'_>,
    left: i32,
    label: &str,
    shades: Shades,
) -> Result<(), DrawError> {
    let look = Look::name().to(HPos::Left);
    write(area, label, (left, 12), look)?;
    let colours = shades.colours();
    let (low, high) = shades.ends();
    for (n, y) in (0..colours.len()).rev().zip((28..).step_by(step(SWATCH))) {
        let corners = [(left, y), (left + SWATCH, y + SWATCH)];
        area.draw(&Rectangle::new(corners, colours[n].filled()))?;
        let share = float(n) / float(colours.len());
        let value = low + share * (high - low);
        let text = match n {
            0 => format!("below {}", number_of(value + (high - low) / 9.0)),
            _ => format!("from {}", number_of(value)),
        };
        write(area, &text, (left + SWATCH + 8, y + SWATCH / 2), look)?;
    }
    Ok(())
}

/// A limit of a colour.
fn number_of(value: f64) -> String {
    number((value * 1e3).round() / 1e3)
}

/// A distance as a step of an iterator.
pub(crate) fn step(pixels: i32) -> usize {
    usize::try_from(pixels).unwrap_or(1).max(1)
}

/// The look of a text.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    size: i32,
    anchor: HPos,
    colour: RGBColor,
}

impl Look {
    pub(crate) const fn name() -> Self {
        Self {
            size: 13,
            anchor: HPos::Center,
            colour: BLACK,
        }
    }

    pub(crate) const fn label() -> Self {
        Self {
            size: 14,
            ..Self::name()
        }
    }

    pub(crate) const fn to(self, anchor: HPos) -> Self {
        Self { anchor, ..self }
    }
}

/// Writes a text whose vertical middle is at a place.
pub(crate) fn write(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    look: Look,
) -> Result<(), DrawError> {
    let style = (FONT, look.size)
        .into_text_style(area)
        .color(&look.colour)
        .pos(Pos::new(look.anchor, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(shades: Shades, columns: &[&str], values: &[&[Option<f64>]]) -> HeatMap {
        HeatMap {
            title: String::new(),
            x_label: "cross".into(),
            y_label: "major".into(),
            value_label: "asymmetry".into(),
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            rows: (0..values.len()).map(|n| format!("row {n}")).collect(),
            values: values.iter().map(|row| row.to_vec()).collect(),
            shades,
        }
    }

    const AROUND_ZERO: Shades = Shades::Diverging {
        middle: 0.0,
        reach: 1.0,
    };

    #[test]
    fn colours_grow_from_the_middle() {
        let of = |value| AROUND_ZERO.of(value);
        assert_eq!([of(0.0), of(0.05), of(-0.05)], [DIVERGING[4]; 3]);
        assert_eq!((of(-1.0), of(-7.0)), (DIVERGING[0], DIVERGING[0]));
        assert_eq!((of(1.0), of(7.0)), (DIVERGING[8], DIVERGING[8]));
        let from_half = Shades::Sequential { from: 0.5, to: 1.0 };
        assert_eq!(from_half.of(0.5), SEQUENTIAL[0]);
        assert_eq!(from_half.of(1.0), SEQUENTIAL[8]);
    }

    #[test]
    fn each_cell_has_its_number_or_a_dash() {
        let cells: [&[_]; 2] = [&[Some(0.631), None], &[Some(-0.634), Some(123.4)]];
        let svg = map(AROUND_ZERO, &["reno", "fast"], &cells)
            .to_svg()
            .unwrap();
        for text in [
            "0.63",
            "-0.63",
            "123",
            "–",
            "reno",
            "row 1",
            "major",
            "asymmetry",
        ] {
            assert!(svg.contains(&format!(">\n{text}\n<")), "no {text}");
        }
    }

    #[test]
    fn text_contrasts_with_its_cell() {
        assert!(is_dark(DIVERGING[0]) && is_dark(SEQUENTIAL[8]));
        assert!(!is_dark(DIVERGING[4]) && !is_dark(SEQUENTIAL[0]));
    }

    #[test]
    fn long_names_of_columns_stand_upright() {
        let cells: [&[_]; 1] = [&[Some(0.0); 13]];
        let narrow = map(AROUND_ZERO, &["a long name"; 13], &cells);
        assert!(narrow.is_upright());
        assert!(narrow.to_svg().unwrap().contains("rotate(270"));
        let wide = map(AROUND_ZERO, &["reno"; 3], &cells);
        assert!(!wide.is_upright());
    }

    #[test]
    fn map_without_values_is_an_error() {
        let cells: [&[_]; 1] = [&[None, Some(f64::NAN)]];
        assert!(map(AROUND_ZERO, &["a", "b"], &cells).to_svg().is_err());
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, -0.001, 9.876, 45.67, 1234.5].map(short);
        assert_eq!(texts, ["0.00", "0.00", "9.88", "45.7", "1234"]);
    }
}
