// Cells as people read them.

const YEAR = /year|年/i;
const MONTH = /month|月/i;
const QUARTER = /quarter|季度/i;
const FIRST = /^(\d{4})-(\d{2})(?:-01(?:[T ]00:00:00(?:\.0+)?)?)?$/;
const IDENTITY = /(^|\b|_)(id|no|number|code|zip|postcode)$|编号|号码|代码|邮编/i;

/** A cell as text, figures with the digits of their column. */
export function shown(cell, column, language, texts) {
  if (cell === null || cell === undefined) return "–";
  if (typeof cell === "boolean") return cell ? texts.yesWord : texts.noWord;
  if (isFigure(column)) {
    const number = Number(cell);
    if (!Number.isFinite(number)) return String(cell);
    return figure(number, language, column.digits);
  }
  if (column.isQuarterly) return quarter(String(cell), language);
  if (column.isMonthly) return month(String(cell), language);
  if (column.kind === "datetime") return String(cell).replace("T", " ").replace(/ 00:00:00(\.0+)?$/, "");
  return String(cell);
}

/** A number as people write it; `digits` behind the point where its column has them. */
export function figure(number, language, digits = digitsOf(number)) {
  const how = { minimumFractionDigits: Math.min(digits, 2), maximumFractionDigits: digits };
  return new Intl.NumberFormat(language === "zh" ? "zh-CN" : "en-US", how).format(Number(number.toFixed(digits)));
}

function digitsOf(number) {
  return Number.isInteger(number) ? 0 : Math.abs(number) >= 1 || number === 0 ? 2 : 4;
}

/** The columns of a result, marked where every date stands for its whole month or quarter. */
export function marked(columns, rows) {
  return columns.map((column, place) => {
    const dates = ["date", "datetime", "text"].includes(column.kind) ? rows.map((row) => row[place]) : [];
    const areFirsts = dates.length > 0 && dates.every((date) => date === null || FIRST.test(date));
    const isMonthly = areFirsts && MONTH.test(column.label);
    const isQuarterly = areFirsts && QUARTER.test(column.label) && dates.every((date) => date === null || /^\d{4}-(01|04|07|10)/.test(date));
    const figures = isFigure(column) ? rows.map((row) => Number(row[place] ?? 0)).filter(Number.isFinite) : [];
    return { ...column, isMonthly, isQuarterly, digits: Math.max(0, ...figures.map(digitsOf)) };
  });
}

function quarter(date, language) {
  const [, year, month] = FIRST.exec(date);
  const number = (Number(month) + 2) / 3;
  return language === "zh" ? `${year}年第${number}季度` : `Q${number} ${year}`;
}

function month(date, language) {
  const [, year, number] = FIRST.exec(date);
  const first = new Date(Date.UTC(Number(year), Number(number) - 1, 1));
  return new Intl.DateTimeFormat(language === "zh" ? "zh-CN" : "en-US", { year: "numeric", month: language === "zh" ? "long" : "short", timeZone: "UTC" }).format(first);
}

/** Whether a column holds figures: no years, no ids. */
export function isFigure(column) {
  return ["integer", "number"].includes(column.kind) && !YEAR.test(column.label) && !IDENTITY.test(column.label);
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
