// Elements. Text goes in as text nodes only: nothing of a trace becomes markup.

// element("p", {class: "soft"}, "text", child, …); undefined children are left out.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

export function section(id, title, ...children) {
  return element("section", { id, "data-title": title }, element("h2", {}, title), ...children);
}

// [[label, value], …] as a list of definitions.
export function points(pairs) {
  const rows = pairs.filter(([, value]) => value !== undefined && value !== null);
  return element("dl", { class: "points" },
    ...rows.flatMap(([label, value]) => [element("dt", {}, label), element("dd", {}, value)]));
}

// What is read only on demand; open on paper.
export const folded = (title, ...children) => element("details", {}, element("summary", {}, title), ...children);

// tabs([[title, make], …]): the content of a tab is made when it is opened. Arrow keys go from tab to tab.
export function tabs(pages, chosen = 0) {
  const panel = element("div", { role: "tabpanel" });
  const buttons = pages.map(([title], at) => element("button", { role: "tab", onclick: () => open(at), onkeydown: (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    const next = (at + by + pages.length) % pages.length;
    open(next);
    buttons[next].focus();
  } }, title));
  function open(at) {
    buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(i === at));
      button.tabIndex = i === at ? 0 : -1;
    });
    panel.setAttribute("aria-label", pages[at][0]);
    panel.replaceChildren(pages[at][1]());
  }
  open(chosen);
  return element("div", {}, element("div", { role: "tablist" }, ...buttons), panel);
}

export function chooser(label, choices, onchange) {
  const select = element("select", { onchange: () => onchange(select.value) },
    ...choices.map(([value, text]) => element("option", { value }, text)));
  return element("label", {}, label + " ", select);
}
