// Elements out of plain values. Text is always text: nothing here makes markup of a string.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. Properties: `class`, `text`, `on` (listeners by event), `data` (data attributes), `style` (properties),
 * `value` and the like as properties; everything else becomes an attribute. False and null are left out.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...any} children elements, texts, lists of them, or nothing
 * @returns {HTMLElement}
 */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An element of a drawing. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

const AS_PROPERTY = new Set(["value", "checked", "disabled", "selected", "indeterminate", "hidden"]);

function fill(element, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") element.setAttribute("class", value);
    else if (key === "text") element.textContent = value;
    else if (key === "on") for (const [name, handler] of Object.entries(value)) element.addEventListener(name, handler);
    else if (key === "data") for (const [name, text] of Object.entries(value)) element.dataset[name] = text;
    else if (key === "style") for (const [name, text] of Object.entries(value)) element.style.setProperty(name, text);
    else if (AS_PROPERTY.has(key)) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  put(element, children);
  return element;
}

function put(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) put(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/** Puts other children in place of those that are there. */
export function set(element, ...children) {
  element.replaceChildren();
  put(element, children);
  return element;
}

/** Changes a text only where it is another: a screen reader is not told the same twice. */
export function setText(element, text) {
  const next = String(text);
  if (element.textContent !== next) element.textContent = next;
}

/** Says something to those who do not see the page. */
export function say(text) {
  setText(document.getElementById("said"), text);
}

/** A link within the page. */
export function link(href, ...children) {
  return h("a", { href }, ...children);
}

/** Runs a function when the calls stop for so long. */
export function later(ms, run) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...args), ms);
  };
}

/** Lets somebody keep a text as a file. */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const anchor = h("a", { href: address, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
