//! Small multiples: heat maps with the same rows and columns beside each other, and one legend.

use crate::heat::{Cell, LETTER, Look, SWATCH, Shades, draw_legend, short, step, write};
use crate::{Area, DrawError, LEGEND_WIDTH, PlotError, WIDTH};
use crate::{is_drawable, no_points, picture, shorten};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// One of several heat maps.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallMap {
    /// The name above it.
    pub name: String,
    /// The values, row by row. `None` is drawn as a dash.
    pub values: Vec<Vec<Option<f64>>>,
    /// The row and the column of the cell that gets a frame and a star.
    pub marked: Option<(usize, usize)>,
}

/// A picture of several heat maps.
#[derive(Debug, Clone, PartialEq)]
pub struct Multiples {
    /// The line at the top. Can be empty.
    pub title: String,
    /// The meaning of the columns.
    pub x_label: String,
    /// The meaning of the rows.
    pub y_label: String,
    /// The meaning of the values, with their unit.
    pub value_label: String,
    /// The meaning of the star.
    pub mark_label: String,
    /// The names of the columns, from left to right.
    pub columns: Vec<String>,
    /// The names of the rows, from top to bottom.
    pub rows: Vec<String>,
    /// The maps, row by row from the top left.
    pub maps: Vec<SmallMap>,
    /// The colours of all maps.
    pub shades: Shades,
}

const ROW_HEIGHT: i32 = 28;
/// Pixels above the maps: room to explain rows and columns.
const TOP: i32 = 34;
/// Pixels of a map for its name and those of the columns.
const HEAD: i32 = 46;
/// Pixels between maps.
const GAP: i32 = 26;

/// The sizes of a picture, in pixels.
#[derive(Clone, Copy)]
struct Layout {
    names: i32,
    cell: i32,
    map: (i32, i32),
    /// Maps beside each other.
    beside: i32,
}

impl Multiples {
    /// Draws the maps.
    ///
    /// # Errors
    /// No cell has a value, or the plotting library fails.
    pub fn to_svg(&self) -> Result<String, PlotError> {
        let values = self.maps.iter().flat_map(|map| map.values.iter().flatten());
        if !values.flatten().copied().any(is_drawable) {
            return Err(no_points());
        }
        let layout = self.layout();
        let lines = count(self.maps.len()).saturating_add(layout.beside - 1) / layout.beside;
        let height = TOP + lines.saturating_mul(layout.map.1 + GAP);
        let legend = 28 + SWATCH * 11;
        let height = u32::try_from(height.max(legend)).unwrap_or(u32::MAX);
        picture(&self.title, height, |area| self.draw(area, layout))
    }

    fn layout(&self) -> Layout {
        let longest = |names: &[String]| {
            let lengths = names.iter().map(|name| shorten(name).chars().count());
            count(lengths.max().unwrap_or(0)).saturating_mul(LETTER)
        };
        let room = count((WIDTH - LEGEND_WIDTH) as usize) - GAP;
        let names = longest(&self.rows).saturating_add(12).clamp(40, 200);
        let columns = count(self.columns.len()).max(1);
        let widest = ((room - names) / columns).max(1);
        let cell = longest(&self.columns).saturating_add(8).clamp(58, 110);
        let cell = cell.min(widest);
        let map = (
            names + cell.saturating_mul(columns),
            HEAD + count(self.rows.len()).saturating_mul(ROW_HEIGHT),
        );
        Layout {
            names,
            cell,
            map,
            beside: ((room + GAP) / (map.0 + GAP)).max(1),
        }
    }

    fn draw(&self, area: &Area<'_>, layout: Layout) -> Result<(), DrawError> {
        let axes = format!("columns: {}, rows: {}", self.x_label, self.y_label);
        write(area, &axes, (8, 12), Look::label().to(HPos::Left))?;
        for (n, map) in (0..).zip(&self.maps) {
            let (line, place) = (n / layout.beside, n % layout.beside);
            let x = place * (layout.map.0 + GAP);
            let y = TOP + line * (layout.map.1 + GAP);
            self.draw_map(area, map, layout, (x, y))?;
        }
        let left = count((WIDTH - LEGEND_WIDTH) as usize);
        draw_legend(area, left, &self.value_label, self.shades)?;
        if self.maps.iter().any(|map| map.marked.is_some()) {
            let text = format!("★ {}", self.mark_label);
            let at = (left, 28 + SWATCH * 9 + 18);
            write(area, &text, at, Look::name().to(HPos::Left))?;
        }
        Ok(())
    }

    fn draw_map(
        &self,
        area: &Area<'_>,
        map: &SmallMap,
        layout: Layout,
        (left, top): (i32, i32),
    ) -> Result<(), DrawError> {
        let begin = left + layout.names;
        let middle = begin + (layout.map.0 - layout.names) / 2;
        write(area, &shorten(&map.name), (middle, top + 10), Look::label())?;
        let columns = || (begin..).step_by(step(layout.cell));
        for (name, x) in self.columns.iter().zip(columns()) {
            let at = (x + layout.cell / 2, top + HEAD - 12);
            write(area, &shorten(name), at, Look::name())?;
        }
        let rows = self.rows.iter().zip(&map.values);
        let heights = (top + HEAD..).step_by(step(ROW_HEIGHT));
        for ((row, (name, values)), y) in rows.enumerate().zip(heights) {
            let at = (begin - 10, y + ROW_HEIGHT / 2);
            write(area, &shorten(name), at, Look::name().to(HPos::Right))?;
            let values = values.iter().take(self.columns.len()).enumerate();
            for ((column, value), x) in values.zip(columns()) {
                let cell = Cell {
                    at: (x, y),
                    size: (layout.cell, ROW_HEIGHT),
                };
                let is_marked = map.marked == Some((row, column));
                let star = if is_marked { "★ " } else { "" };
                let text = value.map(|value| format!("{star}{}", short(value)));
                cell.draw(area, self.shades, *value, text)?;
                if is_marked {
                    let (right, bottom) = (x + layout.cell, y + ROW_HEIGHT);
                    let corners = [(x, y), (right, y), (right, bottom), (x, bottom), (x, y)];
                    area.draw(&PathElement::new(corners, BLACK.stroke_width(2)))?;
                }
            }
        }
        Ok(())
    }
}

fn count(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps(number: usize) -> Multiples {
        let map = |n: usize| SmallMap {
            name: format!("law {n}"),
            values: vec![vec![Some(0.25), Some(0.75)], vec![None, Some(0.5)]],
            marked: Some((0, 1)),
        };
        Multiples {
            title: String::new(),
            x_label: "streams".into(),
            y_label: "window".into(),
            value_label: "share".into(),
            mark_label: "best".into(),
            columns: vec!["1".into(), "16".into()],
            rows: vec!["64KiB".into(), "1MiB".into()],
            maps: (0..number).map(map).collect(),
            shades: Shades::Sequential { from: 0.0, to: 1.0 },
        }
    }

    #[test]
    fn each_map_has_its_numbers_and_a_framed_star() {
        let svg = maps(3).to_svg().unwrap();
        let count = |text: &str| svg.matches(&format!(">\n{text}\n<")).count();
        assert_eq!([count("0.25"), count("★ 0.75"), count("–")], [3; 3]);
        assert_eq!((count("64KiB"), count("law 2")), (3, 1));
        assert_eq!(count("★ best"), 1);
        assert_eq!(count("columns: streams, rows: window"), 1);
        let frames = svg.matches("stroke=\"#000000\" stroke-width=\"2\"").count();
        assert_eq!(frames, 3, "{svg}");
    }

    #[test]
    fn maps_stand_beside_each_other_as_far_as_there_is_room() {
        assert_eq!(maps(1).layout().beside, 4);
        let mut wide = maps(1);
        wide.columns = (0..30).map(|n| n.to_string()).collect();
        let layout = wide.layout();
        assert_eq!(layout.beside, 1);
        assert!(layout.map.0 < 810 && layout.cell >= 20, "{}", layout.cell);
    }

    #[test]
    fn maps_without_values_are_an_error() {
        let mut empty = maps(1);
        empty.maps[0].values = vec![vec![None, Some(f64::NAN)]];
        assert!(empty.to_svg().is_err());
        assert!(maps(0).to_svg().is_err());
    }
}
