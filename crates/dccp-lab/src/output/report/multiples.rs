//! Several heat maps beside each other: those that a scenario describes, or those of variables beyond the first two.

use super::short;
use crate::judge::{Best, HeatFigure, HeatTable};
use dccp_plot::{Multiples, Shades, SmallMap};
use dccp_report::{Section, Table};
use serde_json::Value;

/// More maps in a picture would hide what matters.
pub(super) const MAPS_MAX: usize = 24;

/// The variables of rows and columns with their values.
pub(super) struct Axes {
    pub(super) rows: (String, Vec<String>),
    pub(super) columns: (String, Vec<String>),
}

/// Adds the maps that a scenario describes.
pub(super) fn add_figure(section: &mut Section, figure: &HeatFigure, cells: &[Value]) {
    section.heading(&figure.title);
    let pictures = match figure.pictures(cells) {
        Ok(pictures) if !pictures.is_empty() => pictures,
        Ok(_) => {
            section.absent("No cell has a value for this picture.");
            return;
        }
        Err(reason) => {
            section.absent(&format!("This picture cannot be drawn: {reason}."));
            return;
        }
    };
    let best = match figure.best {
        Best::Greatest => "greatest",
        Best::Least => "least",
    };
    section.text(&format!(
        "Each number is the mean of the repetitions of {}. The star marks the {best} value of each map.",
        figure.value_text
    ));
    let all: Vec<HeatTable> = pictures.iter().flat_map(|p| p.maps.clone()).collect();
    let shades = shades_of(&all);
    let axes = Axes {
        rows: figure.rows.clone(),
        columns: figure.columns.clone(),
    };
    for picture in &pictures {
        let parts = [&figure.title[..], &picture.place[..]].into_iter();
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let caption = parts.join(": ");
        add_multiples(
            section,
            &caption,
            &figure.label,
            &axes,
            &picture.maps,
            shades,
        );
    }
}

/// Adds maps beside each other, and below them one table of all.
pub(super) fn add_multiples(
    section: &mut Section,
    caption: &str,
    label: &str,
    axes: &Axes,
    maps: &[HeatTable],
    shades: Shades,
) {
    let (y, x) = (&axes.rows.0, &axes.columns.0);
    let corner = format!("{y}, by {x}");
    let heads: Vec<&str> = ["map", &corner]
        .into_iter()
        .chain(axes.columns.1.iter().map(String::as_str))
        .collect();
    let mut table = Table::numbers(caption, &heads);
    for map in maps {
        for (row, (name, values)) in axes.rows.1.iter().zip(&map.values).enumerate() {
            let values = values.iter().enumerate().map(|(column, value)| {
                let star = if map.best == Some((row, column)) {
                    "★ "
                } else {
                    ""
                };
                value.map_or_else(|| "–".into(), |value| format!("{star}{}", short(value)))
            });
            table.row([map.name.clone(), name.clone()].into_iter().chain(values));
        }
    }
    let picture = Multiples {
        title: String::new(),
        x_label: x.clone(),
        y_label: y.clone(),
        value_label: label.to_owned(),
        mark_label: "best of its map".to_owned(),
        columns: axes.columns.1.clone(),
        rows: axes.rows.1.clone(),
        maps: (maps.iter())
            .map(|map| SmallMap {
                name: map.name.clone(),
                values: map.values.clone(),
                marked: map.best,
            })
            .collect(),
        shades,
    };
    section.figure(caption, &picture.to_svg(), &table);
}

/// Colours that suit all maps, from zero if no value is below.
pub(super) fn shades_of(maps: &[HeatTable]) -> Shades {
    let all = maps.iter().flat_map(|map| map.values.iter().cloned());
    shades_of_rows(&all.collect::<Vec<_>>())
}

/// Colours that suit all rows.
pub(super) fn shades_of_rows(rows: &[Vec<Option<f64>>]) -> Shades {
    let values = rows.iter().flatten().flatten().copied();
    let (low, high) = values.fold((0.0_f64, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low < 0.0 {
        return Shades::Diverging {
            middle: 0.0,
            reach: high.max(-low),
        };
    }
    Shades::Sequential {
        from: 0.0,
        to: if high > 0.0 { high } else { 1.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_suit_the_sign() {
        let table = |values: &[f64]| values.iter().map(|v| Some(*v)).collect::<Vec<_>>();
        let shades = shades_of_rows(&[table(&[0.2, 0.7]), table(&[-0.9])]);
        let around_zero = Shades::Diverging {
            middle: 0.0,
            reach: 0.9,
        };
        assert_eq!(shades, around_zero);
        let shades = shades_of_rows(&[table(&[200.0]), table(&[450.0])]);
        assert_eq!(
            shades,
            Shades::Sequential {
                from: 0.0,
                to: 450.0
            }
        );
    }
}
