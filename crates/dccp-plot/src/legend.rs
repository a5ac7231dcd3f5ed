//! Names beside a chart.

use crate::{Area, DrawError, FONT};
use plotters::prelude::*;

/// The sample before the text of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sample {
    Line(RGBAColor),
    Area(RGBAColor),
    /// Nothing: the text belongs to the line above.
    None,
}

/// Pixels from a line to the next.
pub(crate) const LINE_HEIGHT: u32 = 18;

/// Draws the samples and their texts from top to bottom. If there is no room for all, the texts without a sample are left
/// out, and then the last line counts what is missing.
pub(crate) fn draw(area: &Area<'_>, mut entries: Vec<(Sample, String)>) -> Result<(), DrawError> {
    const SAMPLE_WIDTH: i32 = 18;
    let (_, height) = area.dim_in_pixel();
    shorten(
        &mut entries,
        usize::try_from(height / LINE_HEIGHT).unwrap_or(usize::MAX),
    );
    for ((sample, text), y) in entries
        .into_iter()
        .zip((16..).step_by(LINE_HEIGHT as usize))
    {
        match sample {
            Sample::Line(colour) => {
                let line = PathElement::new([(0, y), (SAMPLE_WIDTH, y)], colour.stroke_width(2));
                area.draw(&line)?;
            }
            Sample::Area(colour) => {
                let corners = [(0, y - 5), (SAMPLE_WIDTH, y + 5)];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
            }
            Sample::None => {}
        }
        let style = (FONT, 13).into_text_style(area);
        area.draw(&Text::new(text, (SAMPLE_WIDTH + 6, y - 6), style))?;
    }
    Ok(())
}

/// Keeps at most `room` lines: a curve without a name would be worse than one without its details.
fn shorten(entries: &mut Vec<(Sample, String)>, room: usize) {
    if entries.len() > room {
        entries.retain(|(sample, _)| *sample != Sample::None);
    }
    if entries.len() > room {
        let kept = room.saturating_sub(1);
        let text = format!("and {} more", entries.len() - kept);
        entries.truncate(kept);
        entries.push((Sample::None, text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_legend_counts_what_it_leaves_out() {
        let line = Sample::Line(BLACK.to_rgba());
        let all = |count: usize| vec![(line, "flow".to_owned()); count];
        let mut entries = all(4);
        shorten(&mut entries, 4);
        assert_eq!(entries, all(4));
        shorten(&mut entries, 3);
        assert_eq!(entries[..2], all(2));
        assert_eq!(entries[2].1, "and 2 more");
    }

    #[test]
    fn details_make_room_for_names() {
        let line = Sample::Line(BLACK.to_rgba());
        let entry = [
            (line, "RTT".to_owned()),
            (Sample::None, "50 %: 3".to_owned()),
        ];
        let mut entries = [entry.clone(), entry.clone()].concat();
        shorten(&mut entries, 4);
        assert_eq!(entries.len(), 4);
        shorten(&mut entries, 3);
        assert_eq!(entries, [entry[0].clone(), entry[0].clone()]);
    }
}
