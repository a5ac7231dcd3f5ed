//! Curves over time that a reader can zoom: a picture, and its numbers for a script that draws it again.

use crate::script;
use dccp_plot::{Figure, Mark, PlotError, Series};
use serde_json::{Value, json};

/// How many points a page keeps of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// In the picture.
    pub picture_points: usize,
    /// In the numbers for zooming.
    pub zoom_points: usize,
}

impl Detail {
    /// The detail of a page with this number of curves, so that the page stays below 5 MB.
    pub fn for_curves(curves: usize) -> Self {
        const PICTURE_POINTS: usize = 100_000;
        const ZOOM_POINTS: usize = 250_000;
        let curves = curves.max(1);
        Self {
            picture_points: (PICTURE_POINTS / curves).clamp(100, 1_000),
            zoom_points: (ZOOM_POINTS / curves).clamp(100, 2_000),
        }
    }
}

/// A chart as a picture.
pub(crate) fn picture(figure: &Figure, detail: Detail) -> Result<String, PlotError> {
    figure.decimated(detail.picture_points).to_svg()
}

/// The numbers of a chart: JSON, compressed, as text. Bands are only in the picture.
pub(crate) fn numbers(figure: &Figure, detail: Detail) -> String {
    let figure = figure.decimated(detail.zoom_points);
    let mut times: Vec<Vec<f64>> = Vec::new();
    let mut curve = |series: &Series| {
        let own: Vec<f64> = series.points.iter().map(|point| point.0).collect();
        let known = times.iter().position(|known| *known == own);
        let index = known.unwrap_or_else(|| {
            times.push(own);
            times.len() - 1
        });
        let values = series.points.iter().map(|point| rounded(point.1));
        json!({ "name": series.name, "times": index, "values": values.collect::<Vec<_>>() })
    };
    let panels: Vec<Value> = (figure.panels.iter())
        .map(|panel| {
            let levels = panel.levels.iter();
            let levels = levels.map(|level| json!({ "name": level.name, "value": level.value }));
            json!({
                "label": panel.y_label,
                "reach": panel.greatest(),
                "series": panel.series.iter().map(&mut curve).collect::<Vec<_>>(),
                "levels": levels.collect::<Vec<_>>(),
            })
        })
        .collect();
    let marks = figure.marks.iter().map(|mark| match *mark {
        Mark::At(at) => [at, at],
        Mark::Span(from, to) => [from, to],
    });
    let chart = json!({
        "label": figure.x_label,
        "times": times.iter().map(|times| times.iter().map(|&t| rounded_time(t)).collect()).collect::<Vec<Vec<_>>>(),
        "marks": marks.collect::<Vec<_>>(),
        "panels": panels,
    });
    script::packed(&chart.to_string())
}

/// Four digits are finer than a pixel. What is not finite becomes null, which is a gap.
fn rounded(value: f64) -> Value {
    format!("{value:.3e}")
        .parse()
        .map_or(Value::Null, |value: f64| json!(value))
}

/// Microseconds, if the unit is a second.
fn rounded_time(time: f64) -> Value {
    json!((time * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use dccp_plot::Panel;
    use std::io::Read as _;

    fn figure(points: usize) -> Figure {
        let curve = |name: &str, factor: f64| Series {
            name: name.into(),
            points: (0..points)
                .map(|n| u32::try_from(n).unwrap())
                .map(|n| (f64::from(n) / 10.0, f64::from(n % 7) * factor))
                .collect(),
        };
        let panel = |label: &str, series: Vec<Series>| Panel {
            y_label: label.into(),
            series,
            ..Panel::default()
        };
        Figure {
            title: String::new(),
            x_label: "time, s".into(),
            panels: vec![
                panel(
                    "goodput, Mbit/s",
                    vec![curve("a", 1.0), curve("b", 1.0 / 3.0)],
                ),
                panel("round trip, ms", vec![curve("a", f64::NAN)]),
            ],
            marks: vec![Mark::At(3.0)],
        }
    }

    fn unpacked(text: &str) -> Value {
        let bytes = STANDARD.decode(text).unwrap();
        let mut json = String::new();
        let mut decoder = flate2::read::ZlibDecoder::new(&bytes[..]);
        decoder.read_to_string(&mut json).unwrap();
        serde_json::from_str(&json).unwrap()
    }

    const FINE: Detail = Detail {
        picture_points: 1_000,
        zoom_points: 2_000,
    };

    #[test]
    fn numbers_have_times_once_and_values_for_each_curve() {
        let chart = unpacked(&numbers(&figure(30), FINE));
        assert_eq!(chart["times"].as_array().unwrap().len(), 1);
        assert_eq!(chart["times"][0][7], 0.7);
        assert_eq!(chart["marks"], json!([[3.0, 3.0]]));
        let panels = &chart["panels"];
        assert_eq!(panels[0]["label"], "goodput, Mbit/s");
        assert_eq!(panels[0]["reach"], 6.0);
        assert_eq!(panels[0]["series"][1]["name"], "b");
        assert_eq!(panels[0]["series"][1]["values"][1], 0.3333);
        assert_eq!(panels[1]["series"][0]["values"][1], Value::Null);
    }

    #[test]
    fn long_curves_have_at_most_two_thousand_points() {
        let chart = unpacked(&numbers(&figure(50_000), FINE));
        let values = chart["panels"][0]["series"][0]["values"]
            .as_array()
            .unwrap();
        assert!((1_900..=2_000).contains(&values.len()), "{}", values.len());
        assert_eq!(chart["times"].as_array().unwrap().len(), 1);
        let svg = picture(&figure(50_000), FINE).unwrap();
        assert!(svg.len() < 60_000, "{} bytes", svg.len());
    }

    #[test]
    fn many_curves_have_fewer_points() {
        assert_eq!(Detail::for_curves(4), FINE);
        let coarse = Detail::for_curves(98 * 8);
        assert!(
            coarse.zoom_points < 600 && coarse.picture_points < 300,
            "{coarse:?}"
        );
        assert_eq!(Detail::for_curves(1_000_000).zoom_points, 100);
    }
}
