//! The counters as metrics for Prometheus.

use crate::gauges::GAUGES;
use crate::host_gauges::HOST_GAUGES;
use crate::snapshot::{ConnectionCounters, Snapshot};
use crate::table::{Counter, counters};
use crate::unit::Unit;
use core::fmt;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{self, Registry};
use std::io;

/// Writes a [`Snapshot`] at each scrape. Register it with [`Registry::register_collector`].
///
/// Without a snapshot there is only the metric `dccp_up`, with the value 0.
pub struct Exporter<F> {
    read: F,
    connections_max: usize,
}

impl<F: Fn() -> io::Result<Snapshot> + Send + Sync + 'static> Exporter<F> {
    /// An exporter of the host's counters, which `read` gets.
    pub fn new(read: F) -> Self {
        let connections_max = 0;
        Self {
            read,
            connections_max,
        }
    }

    /// Also writes series of each connection, of the first `max` connections of the snapshot. Each has about 200 series
    /// and a number of its own, so Prometheus stores as many for each connection that ever was. 0 by default.
    #[must_use]
    pub fn connections(mut self, max: usize) -> Self {
        self.connections_max = max;
        self
    }
}

impl<F> fmt::Debug for Exporter<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

impl<F: Fn() -> io::Result<Snapshot> + Send + Sync + 'static> Collector for Exporter<F> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let snapshot = (self.read)();
        let mut writer = Writer(encoder);
        let is_up = f64::from(u8::from(snapshot.is_ok()));
        let help = "Whether the counters could be read";
        writer.gauge("dccp_up", None, help, &[(NO_LABELS, is_up)])?;
        let Ok(snapshot) = snapshot else {
            return Ok(());
        };
        writer.host(&snapshot)?;
        let shown = snapshot.connections.len().min(self.connections_max);
        match &snapshot.connections[..shown] {
            [] => Ok(()),
            connections => writer.connections(connections),
        }
    }
}

/// The text of OpenMetrics 1.0 for one snapshot, with series of the first `connections_max` connections.
///
/// # Errors
/// When the text cannot be formatted.
pub fn text(snapshot: &Snapshot, connections_max: usize) -> Result<String, fmt::Error> {
    let snapshot = snapshot.clone();
    let exporter = Exporter::new(move || Ok(snapshot.clone())).connections(connections_max);
    let mut registry = Registry::default();
    registry.register_collector(Box::new(exporter));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    Ok(text)
}

type Labels<'a> = &'a [(&'static str, String)];

const NO_LABELS: Labels<'static> = &[];

struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    /// All metrics of the host.
    fn host(&mut self, snapshot: &Snapshot) -> fmt::Result {
        for row in HOST_GAUGES {
            let name = format!("dccp_{}", row.metric);
            let samples = [(NO_LABELS, row.of(snapshot))];
            self.gauge(&name, Some(row.unit), row.help, &samples)?;
        }
        let rows: Vec<_> = snapshot.totals.rows().collect();
        for family in rows.chunk_by(|(a, _), (b, _)| a.metric == b.metric) {
            let samples = family
                .iter()
                .map(|(row, value)| (row.labels.as_slice(), *value));
            self.counter("dccp", family[0].0, samples)?;
        }
        Ok(())
    }

    /// All metrics of connections, with their number as a label.
    fn connections(&mut self, connections: &[ConnectionCounters]) -> fmt::Result {
        let help = "A connection";
        let infos: Vec<_> = connections.iter().map(info).collect();
        let infos: Vec<_> = infos
            .iter()
            .map(|labels| (labels.as_slice(), 1.0))
            .collect();
        self.gauge("dccp_connection_info", None, help, &infos)?;
        let numbers: Vec<_> = connections.iter().map(|c| [number(c)]).collect();
        let ages = numbers.iter().zip(connections);
        let ages: Vec<_> = ages
            .map(|(labels, c)| (labels.as_slice(), c.age_s))
            .collect();
        let help = "Time since the connection was opened";
        self.gauge("dccp_connection_age", Some(Unit::Seconds), help, &ages)?;
        for row in GAUGES {
            let values = numbers.iter().zip(connections);
            let key = row.key();
            let values =
                values.filter_map(|(labels, c)| Some((labels.as_slice(), c.gauges.get(&key)?)));
            let name = format!("dccp_connection_{}", row.metric);
            self.gauge(&name, Some(row.unit), row.help, &values.collect::<Vec<_>>())?;
        }
        let rows: Vec<_> = counters()
            .iter()
            .zip(0..)
            .filter(|(row, _)| row.is_of_connections())
            .collect();
        for family in rows.chunk_by(|(a, _), (b, _)| a.metric == b.metric) {
            let mut samples = Vec::new();
            for connection in connections {
                for (row, n) in family {
                    let mut labels = vec![number(connection)];
                    labels.extend(row.labels.iter().cloned());
                    samples.push((labels, connection.counters.at(*n)));
                }
            }
            let samples = samples
                .iter()
                .map(|(labels, value)| (labels.as_slice(), *value));
            self.counter("dccp_connection", family[0].0, samples)?;
        }
        Ok(())
    }

    fn gauge(
        &mut self,
        name: &str,
        unit: Option<Unit>,
        help: &str,
        samples: &[(Labels<'_>, f64)],
    ) -> fmt::Result {
        let unit = unit.and_then(unit_of);
        let mut metric = self
            .0
            .encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
        for (labels, value) in samples {
            labelled(&mut metric, labels, |sample| sample.encode_gauge(value))?;
        }
        Ok(())
    }

    fn counter<'s>(
        &mut self,
        prefix: &str,
        row: &Counter,
        samples: impl Iterator<Item = (Labels<'s>, u64)>,
    ) -> fmt::Result {
        let (name, unit) = (format!("{prefix}_{}", row.metric), unit_of(row.unit));
        let help = row.family_help();
        let mut metric =
            self.0
                .encode_descriptor(&name, help, unit.as_ref(), MetricType::Counter)?;
        for (labels, value) in samples {
            labelled(&mut metric, labels, |sample| {
                sample.encode_counter::<[(&str, &str); 0], u64, u64>(&value, None)
            })?;
        }
        Ok(())
    }
}

/// Writes a sample with labels, or without.
fn labelled(
    metric: &mut MetricEncoder<'_>,
    labels: Labels<'_>,
    write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    if labels.is_empty() {
        return write(metric);
    }
    let labels = LabelsOf(labels);
    write(&mut metric.encode_family(&labels)?)
}

#[derive(Debug)]
struct LabelsOf<'a>(Labels<'a>);

impl EncodeLabelSet for LabelsOf<'_> {
    fn encode(
        &self,
        encoder: &mut prometheus_client::encoding::LabelSetEncoder<'_>,
    ) -> fmt::Result {
        self.0.encode(encoder)
    }
}

fn number(connection: &ConnectionCounters) -> (&'static str, String) {
    ("connection", connection.id.to_string())
}

/// The labels that identify a connection and do not change.
fn info(connection: &ConnectionCounters) -> Vec<(&'static str, String)> {
    let c = connection;
    vec![
        number(c),
        ("user", c.user.to_string()),
        ("local", c.local.clone()),
        ("remote", c.remote.clone()),
        ("service", c.service.clone()),
        ("ccid_tx", c.ccid_tx.to_string()),
        ("ccid_rx", c.ccid_rx.to_string()),
    ]
}

fn unit_of(unit: Unit) -> Option<registry::Unit> {
    unit.suffix()
        .map(|suffix| registry::Unit::Other(suffix.into()))
}

#[cfg(test)]
mod tests;
