// Cells as people read them.

const YEAR = /year|jahr|年/i;
const IDENTITY = /(^|\b|_)(id|no|number|code|zip|postcode)$|编号|号码|代码|邮编/i;

/** A cell as text; `wide` figures are those of a column whose numbers are counted or measured. */
export function shown(cell, column, language, texts) {
  if (cell === null || cell === undefined) return "–";
  if (typeof cell === "boolean") return cell ? texts.yesWord : texts.noWord;
  if (isFigure(column)) {
    const number = Number(cell);
    if (!Number.isFinite(number)) return String(cell);
    return figure(number, language);
  }
  if (column.kind === "datetime") return String(cell).replace("T", " ").replace(/ 00:00:00(\.0+)?$/, "");
  return String(cell);
}

export function figure(number, language) {
  const digits = Number.isInteger(number) ? 0 : Math.abs(number) >= 1 ? 2 : 4;
  const rounded = Number(number.toFixed(digits));
  return new Intl.NumberFormat(language === "zh" ? "zh-CN" : "en-US", { maximumFractionDigits: digits }).format(rounded);
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
