// Draws the time series with uPlot, so that they can be zoomed. Without this script, the pictures stay.
(() => {
  "use strict";
  const HEIGHT = 190;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const charts = new Map();

  const variable = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  async function unpack(figure) {
    const text = figure.querySelector(".data").textContent.trim();
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  // The curves of a panel on one list of times, as uPlot wants them.
  function table(chart, panel) {
    const first = panel.series[0].times;
    if (panel.series.every(series => series.times === first)) {
      return [chart.times[first], ...panel.series.map(series => series.values)];
    }
    return uPlot.join(panel.series.map(series => [chart.times[series.times], series.values]));
  }

  function element(name, attributes, text = "") {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  // Times to show in all panels: lines and grey bands, and the levels of a panel.
  function drawMarks(plot, chart, panel) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = ctx.fillStyle = variable("--soft");
    const line = (x0, y0, x1, y1) => {
      ctx.beginPath();
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
      ctx.stroke();
    };
    for (const [from, to] of chart.marks) {
      const left = plot.valToPos(from, "x", true);
      const right = plot.valToPos(to, "x", true);
      line(left, bbox.top, left, bbox.top + bbox.height);
      ctx.globalAlpha = 0.2;
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.globalAlpha = 1;
    }
    for (const level of panel.levels) {
      const y = plot.valToPos(level.value, "y", true);
      line(bbox.left, y, bbox.left + bbox.width, y);
    }
    ctx.restore();
  }

  class Chart {
    constructor(figure, chart, index) {
      this.figure = figure;
      this.chart = chart;
      this.key = `chart ${index}`;
      this.plots = [];
      const ends = chart.times.map(times => times[times.length - 1]);
      this.whole = [0, Math.max(...ends)];
      this.range = this.whole;
      this.live = element("div", { class: "live" });
      this.live.append(this.controls());
      this.panels = element("div", { class: "panels" });
      this.live.append(this.panels);
      this.live.addEventListener("keydown", event => this.key_down(event));
      figure.querySelector(".still").after(this.live);
      figure.classList.add("is-live");
      this.draw();
      new ResizeObserver(() => requestAnimationFrame(() => this.resize())).observe(this.panels);
    }

    controls() {
      const name = this.figure.querySelector("figcaption").textContent;
      const group = element("div", { class: "zoom", role: "group", "aria-label": `Zoom: ${name}` });
      const button = (text, label, act) => {
        const made = element("button", { type: "button", "aria-label": label, title: label }, text);
        made.addEventListener("click", act);
        group.append(made);
      };
      button("+", "Zoom in", () => this.zoom(1 / 2));
      button("−", "Zoom out", () => this.zoom(2));
      button("←", "Earlier", () => this.move(-1 / 4));
      button("→", "Later", () => this.move(1 / 4));
      button("Reset", "Show the whole time", () => this.show(this.whole));
      this.shown = element("output", { class: "range", "aria-live": "polite" });
      group.append(this.shown);
      group.append(element("span", { class: "hint" }, "Drag to zoom. Keys: + − ← → 0."));
      return group;
    }

    key_down(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const acts = {
        "+": () => this.zoom(1 / 2), "=": () => this.zoom(1 / 2), "-": () => this.zoom(2),
        ArrowLeft: () => this.move(-1 / 4), ArrowRight: () => this.move(1 / 4),
        0: () => this.show(this.whole), Escape: () => this.show(this.whole),
      };
      const act = acts[event.key];
      if (act) {
        event.preventDefault();
        act();
      }
    }

    zoom(factor) {
      const [from, to] = this.range;
      const middle = (from + to) / 2;
      const half = ((to - from) / 2) * factor;
      this.show([middle - half, middle + half]);
    }

    move(share) {
      const [from, to] = this.range;
      const [begin, end] = this.whole;
      const wanted = (to - from) * share;
      const by = Math.min(Math.max(wanted, begin - from), end - to);
      this.show([from + by, to + by]);
    }

    // Shows a range of times in all panels, within the whole and not too short.
    show([from, to]) {
      const [begin, end] = this.whole;
      const least = (end - begin) / 1e4;
      if (to - from < least) to = from + least;
      const min = Math.max(from, begin);
      const max = Math.min(to, end);
      this.range = [min, max];
      for (const plot of this.plots) plot.setScale("x", { min, max });
      this.tell();
    }

    tell() {
      const unit = this.chart.label.split(", ")[1] ?? "";
      const number = value => Number(value.toPrecision(5));
      const [from, to] = this.range.map(number);
      this.shown.textContent = `${from} to ${to} ${unit}`;
      this.shown.dataset.from = from;
      this.shown.dataset.to = to;
    }

    draw() {
      for (const plot of this.plots) plot.destroy();
      this.plots = [];
      this.plots = this.chart.panels.map((panel, n) => this.panel(panel, n));
      this.show(this.range);
    }

    panel(panel, n) {
      const colours = { stroke: variable("--ink"), grid: { stroke: variable("--line") }, ticks: { stroke: variable("--line") } };
      const isLast = n === this.chart.panels.length - 1;
      const plot = new uPlot({
        width: this.panels.clientWidth,
        height: isLast ? HEIGHT + 20 : HEIGHT,
        legend: { markers: { width: 2 } },
        cursor: {
          // The mouse selects in one panel; show() sets all.
          sync: { key: this.key, filters: { pub: type => type === "mousemove" || type === "mouseleave" } },
          drag: { x: true, y: false },
          bind: { dblclick: () => () => this.show(this.whole) },
        },
        scales: {
          x: { time: false, min: this.range[0], max: this.range[1] },
          y: { range: (_, least, greatest) => this.heights(panel, least, greatest) },
        },
        axes: [
          { ...colours, size: isLast ? 50 : 30, label: isLast ? this.chart.label : undefined, labelSize: 20 },
          { ...colours, label: panel.label, size: 56, labelSize: 20 },
        ],
        series: [
          { label: this.chart.label },
          ...panel.series.map((series, m) => ({
            label: series.name,
            stroke: variable(`--curve-${m % 10}`),
            width: 1.5,
            points: { show: false },
          })),
        ],
        hooks: {
          drawAxes: [plot => drawMarks(plot, this.chart, panel)],
          setScale: [(plot, scale) => {
            const { min, max } = plot.scales.x;
            if (scale === "x" && (min !== this.range[0] || max !== this.range[1])) this.show([min, max]);
          }],
        },
      }, table(this.chart, panel), this.panels);
      const canvas = plot.root.querySelector("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${panel.label}: ${panel.series.map(series => series.name).join(", ")}`);
      return plot;
    }

    // All charts of a page have the same heights until a reader zooms.
    heights(panel, least, greatest) {
      const [from, to] = this.range;
      if (from === this.whole[0] && to === this.whole[1]) return [0, (panel.reach || 1) * 1.05];
      return [Math.min(0, least ?? 0), greatest > 0 ? greatest * 1.05 : 1];
    }

    resize() {
      const width = this.panels.clientWidth;
      for (const plot of this.plots) {
        if (width > 0 && plot.width !== width) plot.setSize({ width, height: plot.height });
      }
    }
  }

  const seen = new IntersectionObserver(entries => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      unpack(target).then(
        chart => charts.set(target, new Chart(target, chart, charts.size)),
        reason => console.warn("This browser shows the pictures without zoom:", reason),
      );
    }
  }, { rootMargin: "300px" });
  for (const figure of document.querySelectorAll("figure.series")) seen.observe(figure);

  dark.addEventListener("change", () => {
    for (const chart of charts.values()) chart.draw();
  });
})();
