//! Compares the published tables of the scenarios with the data files in `scenarios/papers/published`, number by number.

use csv::StringRecord;
use dccp_lab::judge::PublishedTable;
use dccp_lab::papers::EXPERIMENTS;
use dccp_lab::scenario::Scale;
use std::collections::BTreeMap;
use std::path::Path;

/// A row of a data file: the value of each column by its name.
type Row = BTreeMap<String, String>;

/// Where the numbers of a published table stand in a data file.
struct Place {
    experiment: &'static str,
    title: &'static str,
    file: &'static str,
    /// Columns of the file with the value that all of the table's numbers have.
    fixed: &'static [(&'static str, &'static str)],
    rows: RowLabel,
    /// The column of the file that has the labels of the table's columns.
    column: &'static str,
}

/// The meaning of the labels of a table's rows.
enum RowLabel {
    /// `ufl-4MiB`: the path and the window.
    PathAndWindow,
    /// `4MiB`: the window.
    Window,
    /// The value of this column of the file.
    Value(&'static str),
}

const PLACES: &[Place] = &[
    Place {
        experiment: "e01-throughput",
        title: "Throughput from SLAC",
        file: "slac_throughput.csv",
        fixed: &[("statistic", "measurement")],
        rows: RowLabel::PathAndWindow,
        column: "stack",
    },
    Place {
        experiment: "e01-throughput",
        title: "Stability from SLAC to UFl",
        file: "slac_stability.csv",
        fixed: &[],
        rows: RowLabel::PathAndWindow,
        // The source has nine headings above eight values. This reading has the order of the other tables.
        column: "stack_preferred",
    },
    Place {
        experiment: "e05-sinusoidal-udp",
        title: "Stability against UDP with a period of 30 s",
        file: "slac_stability_sinusoidal_udp.csv",
        fixed: &[("udp_period_s", "30")],
        rows: RowLabel::Window,
        column: "stack",
    },
    Place {
        experiment: "e07-pairs-ufl",
        title: "Asymmetry to UFl, 8 MiB",
        file: "slac_asymmetry_ufl.csv",
        fixed: &[("statistic", "measurement"), ("window_kib", "8192")],
        rows: RowLabel::Value("major_source_stack"),
        column: "cross_traffic_stack",
    },
    Place {
        experiment: "e07-pairs-ufl",
        title: "Fairness to UFl",
        file: "slac_fairness.csv",
        fixed: &[("statistic", "measurement")],
        rows: RowLabel::Value("source_stack"),
        column: "cross_traffic_stack",
    },
    Place {
        experiment: "e09-pairs-caltech",
        title: "Asymmetry to Caltech, 1 MiB",
        file: "slac_asymmetry_caltech.csv",
        fixed: &[("statistic", "measurement"), ("window_kib", "1024")],
        rows: RowLabel::Value("major_source_stack"),
        column: "cross_traffic_stack",
    },
    Place {
        experiment: "e12-published-capacity",
        title: "Throughput from SLAC to UFl, 8 MiB",
        file: "slac_throughput.csv",
        fixed: &[
            ("statistic", "measurement"),
            ("path", "ufl"),
            ("window_kib", "8192"),
        ],
        rows: RowLabel::Window,
        column: "stack",
    },
    Place {
        experiment: "e12-published-capacity",
        title: "Stability from SLAC to UFl, 8 MiB",
        file: "slac_stability.csv",
        fixed: &[("path", "ufl"), ("window_kib", "8192")],
        rows: RowLabel::Window,
        column: "stack_preferred",
    },
];

impl RowLabel {
    /// The columns of the file and their values for a label.
    fn wanted(&self, label: &str) -> Vec<(&'static str, String)> {
        match self {
            Self::PathAndWindow => {
                let (path, window) = label.split_once('-').expect("a path and a window");
                vec![("path", path.to_owned()), ("window_kib", kib(window))]
            }
            Self::Window => vec![("window_kib", kib(label))],
            Self::Value(column) => vec![(column, label.to_owned())],
        }
    }
}

/// `4MiB` is `4096`.
fn kib(window: &str) -> String {
    if let Some(kib) = window.strip_suffix("KiB") {
        return kib.to_owned();
    }
    let mib = window.strip_suffix("MiB").expect("KiB or MiB");
    (mib.parse::<u32>().expect("a number") * 1024).to_string()
}

impl Place {
    /// The rows of the file that the table is about.
    fn data(&self) -> Vec<Row> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/papers/published");
        let mut reader = csv::Reader::from_path(folder.join(self.file)).expect(self.file);
        let names = reader.headers().expect("a head").clone();
        let row = |record: csv::Result<StringRecord>| -> Row {
            let record = record.expect("a row");
            let pairs = names.iter().zip(&record);
            pairs.map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
        };
        let is_wanted = |row: &Row| self.fixed.iter().all(|(name, value)| row[*name] == *value);
        reader.records().map(row).filter(is_wanted).collect()
    }

    /// The number of a cell of the table as the file has it; `None` if it was not published.
    fn number(&self, data: &[Row], row: &str, column: &str) -> Option<f64> {
        let mut wanted = self.rows.wanted(row);
        wanted.push((self.column, column.to_owned()));
        let mut found = data
            .iter()
            .filter(|data| wanted.iter().all(|(name, value)| data[*name] == *value));
        let data = found.next()?;
        assert!(found.next().is_none(), "{}: {wanted:?} twice", self.file);
        let (printed, value) = (&data["raw"], &data["value"]);
        if printed.is_empty() {
            return None;
        }
        let number: f64 = printed.parse().expect("a number");
        assert_eq!(value.parse(), Ok(number), "{}: {wanted:?}", self.file);
        Some(number)
    }

    /// Compares all numbers, and finds those that the table leaves out.
    fn compare(&self, table: &PublishedTable) {
        let data = self.data();
        let mut count = 0;
        for (row, numbers) in table.rows.1.iter().zip(&table.numbers) {
            for (column, ours) in table.columns.1.iter().zip(numbers) {
                let ours = Some(*ours).filter(|number| !number.is_nan());
                let theirs = self.number(&data, row, column);
                assert_eq!(ours, theirs, "{}: {row}, {column}", self.title);
                count += usize::from(ours.is_some());
            }
        }
        let published = data.iter().filter(|row| !row["raw"].is_empty()).count();
        assert_eq!(count, published, "{}: numbers of the file", self.title);
    }
}

#[test]
fn published_tables_have_the_numbers_of_the_data_files() {
    let mut known: Vec<&Place> = PLACES.iter().collect();
    for experiment in EXPERIMENTS {
        let scenario = experiment.scenario(Scale::Full).expect("a scenario");
        for table in &scenario.expected.published {
            let is_it = |p: &&Place| p.experiment == experiment.name && p.title == table.title;
            let place = known.iter().position(is_it);
            let place = place.unwrap_or_else(|| panic!("{}: add it to PLACES", table.title));
            known.remove(place).compare(table);
        }
    }
    let left: Vec<&str> = known.iter().map(|place| place.title).collect();
    assert!(left.is_empty(), "no scenario has {left:?}");
}
