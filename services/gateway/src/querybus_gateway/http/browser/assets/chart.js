// Charts by Vega-Lite, loaded when the first one comes. Expressions are interpreted, so that no policy needs to allow eval.

let loading;

function library(base) {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${base}/page/charts.js`;
    script.onload = () => (globalThis.querybusVegaEmbed ? resolve(globalThis.querybusVegaEmbed) : reject(new Error("no library")));
    script.onerror = () => {
      loading = undefined;
      reject(new Error("the chart library did not come"));
    };
    document.head.append(script);
  });
  return loading;
}

/** The kind of a picture's mark; labels stand over it as further layers. */
export function kindOf(spec) {
  return (spec.mark ?? spec.layer?.[0]?.mark)?.type;
}

/** The kinds that a specification can be switched to, its own first. */
export function kindsOf(spec) {
  const kind = kindOf(spec);
  const { x, y, theta } = spec.encoding ?? {};
  if (kind === "bar" || kind === "line" || kind === "area") {
    const isPlain = x && y && [x, y].filter((axis) => axis.type === "quantitative").length === 1;
    if (!isPlain) return [kind];
    const others = x.type === "quantitative" ? ["bar", "point"] : ["bar", "line", "area", "point"];
    return [kind, ...others.filter((other) => other !== kind)];
  }
  return kind ? [kind] : theta ? ["arc"] : [];
}

/** The same data as another kind of picture. */
export function switched(spec, kind) {
  if (kindOf(spec) === kind) return spec;
  const mark = kind === "line" ? { type: "line", point: true, tooltip: true } : { type: kind, tooltip: true };
  const encoding = structuredClone(spec.encoding);
  const value = encoding.x?.type === "quantitative" ? encoding.x : encoding.y;
  // Bars and areas say by their length how much it is; a cut axis would lie.
  if (value && (kind === "bar" || kind === "area")) value.scale = { ...value.scale, zero: true };
  const { layer: _labels, ...rest } = spec;
  return { ...rest, mark, encoding };
}

const LIGHT = "#56B4E9";
/** What stands for a colour that a dark ground swallows; the light one changes places with the dark blue. */
const ON_DARK = { "#0072B2": LIGHT, [LIGHT]: "#0072B2", "#000000": "#ffffff" };

/** Marks and series in colours light enough for a dark ground. */
function lit(config) {
  const category = config?.range?.category?.map((color) => ON_DARK[color] ?? color);
  return {
    ...Object.fromEntries(["bar", "line", "area", "point"].map((mark) => [mark, { ...config?.[mark], color: LIGHT }])),
    ...(category ? { range: { ...config.range, category } } : {}),
  };
}

/** Draw into an element. Returns a function that takes the picture away. */
export async function draw(base, element, spec, { isDark }) {
  const embed = await library(base);
  const isRound = kindOf(spec) === "arc";
  const text = isDark ? "#c9cdd2" : "#5f6368";
  const config = {
    ...spec.config,
    background: "transparent",
    // By its name: texts are measured on a canvas, which inherits none.
    font: getComputedStyle(element).fontFamily,
    axis: { ...spec.config?.axis, labelColor: text, titleColor: text },
    legend: { ...spec.config?.legend, labelColor: text, titleColor: text },
    ...(isDark ? lit(spec.config) : {}),
    text: { ...spec.config?.text, color: text },
    axisQuantitative: { ...spec.config?.axisQuantitative, gridColor: isDark ? "#33383e" : "#e3e5e8" },
  };
  const { title: _title, ...rest } = spec;
  const sized = isRound ? rest : { ...rest, width: "container", autosize: { type: "fit-x", contains: "padding" } };
  const result = await embed(element, { ...sized, config }, {
    ast: true,
    actions: false,
    renderer: "svg",
    tooltip: false,
    defaultStyle: false,
    loader: { http: {}, target: "_blank" },
  });
  return () => result.finalize();
}
