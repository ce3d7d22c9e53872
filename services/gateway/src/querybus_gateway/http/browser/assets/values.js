// Cells as people read them, by the format that the server gave their column: `shown_rows.py` does the same elsewhere.
// A column without a format is of an old answer: its cells are shown as they are.

const FIGURES = ["integer", "number", "money", "percent"];
const DAY = /^(\d{4})-(\d{2})(?:-(\d{2}))?/;
const MIDNIGHT = /[T ]00:00(:00(\.0+)?)?(Z|[+-]\d{2}(:?\d{2})?)?$/;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A cell as text. */
export function shown(cell, column, language, texts) {
  if (cell === null || cell === undefined) return "–";
  const { kind, digits, factor, grain } = column.format ?? {};
  if (kind === "boolean") return [true, 1, "1", "t", "true", "True"].includes(cell) ? texts.yesWord : texts.noWord;
  if (FIGURES.includes(kind)) {
    const text = figure(cell, digits, factor);
    return kind === "percent" && /\d$/.test(text) ? `${text}%` : text;
  }
  if (kind === "date") return date(String(cell), grain, language);
  if (kind === "datetime") return String(cell).replace("T", " ").replace(/(:\d{2})\.\d+/, "$1").replace(/(Z|[+-]00(:?00)?)$/, " UTC");
  return typeof cell === "number" ? String(Number(cell.toPrecision(15))) : String(cell);
}

/** A number times a factor, with thousands apart; halves are rounded up. Texts that are no numbers stay as they are. */
export function figure(cell, digits = 0, factor = 1) {
  const number = Number(cell);
  if (typeof cell === "boolean" || cell === "" || !Number.isFinite(number)) return String(cell);
  // A text has more digits than a number of a browser: it is formatted as it is.
  const exact = factor === 1 ? cell : Number((number * factor).toPrecision(15));
  if (Math.abs(Number(exact)) >= 1e21) return Number(exact).toExponential(2);
  const how = { minimumFractionDigits: Math.min(digits, 2), maximumFractionDigits: digits, signDisplay: "negative" };
  return new Intl.NumberFormat("en-US", how).format(exact);
}

function date(text, grain, language) {
  const [, year, month] = DAY.exec(text) ?? [];
  const number = Number(month);
  if (!(number >= 1 && number <= 12)) return text;
  const isChinese = language === "zh";
  if (grain === "year") return isChinese ? `${year}年` : year;
  if (grain === "quarter") return isChinese ? `${year}年第${Math.ceil(number / 3)}季度` : `Q${Math.ceil(number / 3)} ${year}`;
  if (grain === "month") return isChinese ? `${year}年${number}月` : `${MONTHS[number - 1]} ${year}`;
  return text.replace(MIDNIGHT, "");
}

/** Whether a column's cells stand to the right: amounts, and without a format whatever are numbers. */
export function isFigure(column) {
  return column.format ? FIGURES.includes(column.format.kind) : ["integer", "number"].includes(column.kind);
}

/** Rows in the order of one column; what is missing comes last. */
export function sorted(rows, place, isDown) {
  const compare = (one, two) => {
    if (one === null || two === null) return one === two ? 0 : one === null ? 1 : -1;
    const order = typeof one === "number" && typeof two === "number" ? one - two : collator.compare(String(one), String(two));
    return isDown ? -order : order;
  };
  return [...rows].sort((one, two) => compare(one[place], two[place]));
}

const collator = new Intl.Collator(undefined, { numeric: true });
