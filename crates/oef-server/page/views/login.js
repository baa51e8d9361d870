// Logging in: by the code in a link, or by a token.

import { api } from "../lib/api.js";
import { h, set } from "../lib/dom.js";

/** Shows the form; `enter` is called with who it is. */
export async function show(main, enter) {
  const code = location.pathname === "/login" ? location.hash.slice(1) : "";
  // A code counts once: it should not stay in the address.
  if (code) history.replaceState(null, "", "/login" + location.search);
  const said = h("p", { class: "bad", role: "alert", hidden: true });
  const field = h("input", {
    id: "token",
    name: "token",
    type: "password",
    autocomplete: "current-password",
    spellcheck: "false",
    required: true,
    placeholder: "oef_…",
  });
  const button = h("button", { type: "submit", class: "button primary" }, "Log in");
  const attempt = async (what) => {
    button.disabled = true;
    said.hidden = true;
    try {
      await enter(await api.enter(what));
    } catch (error) {
      said.textContent =
        error.status === 401
          ? "code" in what
            ? "This link was used already, or is too old. `oef open` makes a new one."
            : "This token is unknown or no longer valid."
          : error.message;
      said.hidden = false;
      button.disabled = false;
    }
  };
  set(
    main,
    h(
      "div",
      { class: "login" },
      h(
        "div",
        { class: "card" },
        h("div", {}, h("h1", { text: "OEF" }), h("p", { class: "muted", text: "Fair shares of mixed GPUs" })),
        h(
          "form",
          {
            on: {
              submit: (event) => {
                event.preventDefault();
                attempt({ token: field.value.trim() });
              },
            },
          },
          h("label", { for: "token", text: "Token" }),
          field,
          button,
          said,
        ),
        h(
          "div",
          { class: "muted small" },
          h(
            "p",
            {},
            "On the machine of the daemon ",
            h("code", { text: "oef open" }),
            " opens this page logged in; with ",
            h("code", { text: "--print" }),
            " it prints the link.",
          ),
          h("p", {}, "Elsewhere ask an operator for a token: ", h("code", { text: "oef token create" }), "."),
        ),
      ),
    ),
  );
  field.focus();
  // Who opens a link where this form is shown already changes only what stands after the `#`.
  addEventListener("hashchange", () => {
    const other = location.hash.slice(1);
    history.replaceState(null, "", "/login" + location.search);
    if (other) attempt({ code: other });
  });
  if (code) await attempt({ code });
}
