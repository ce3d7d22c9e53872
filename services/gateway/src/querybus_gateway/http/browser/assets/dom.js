// Elements are built, never parsed: whatever stands in a value stays text.

/** An element with properties, `on…` listeners and children; null and false children are left out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && !name.startsWith("aria-") && name !== "list" && name !== "form") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A button that cannot be pressed twice while what it does is under way. */
export function button(text, act, properties = {}) {
  const made = h("button", { type: "button", ...properties }, text);
  made.addEventListener("click", async (event) => {
    if (made.disabled) return;
    made.disabled = true;
    try {
      await act(event);
    } finally {
      made.disabled = false;
    }
  });
  return made;
}

/** Offer a Blob as a file. */
export function download(blob, name) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export async function copy(text) {
  if (navigator.clipboard?.writeText) return navigator.clipboard.writeText(text);
  // Without TLS there is no clipboard to write to; a selection can still be copied.
  const field = h("textarea", { value: text, class: "away" });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
