// Making a scenario real: what exactly is sent is shown first.

import { api, part } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { figure } from "../lib/format.js";
import { confirm, toast } from "../lib/parts.js";
import { state } from "../lib/state.js";

/** Shows the changes, asks, and makes them one after the other. */
export async function apply(scenario, base) {
  const { steps, cannot } = plan(scenario, base);
  const body = [
    steps.length > 0 &&
      h(
        "ol",
        {},
        steps.map((step) => h("li", { text: step.text })),
      ),
    steps.length > 0 &&
      h("p", {
        class: "muted",
        text: `They count from the next round on, at most ${Math.ceil(state.overview.length_s)} s from now.`,
      }),
    cannot.length > 0 &&
      h(
        "div",
        {},
        h("p", { text: "Not applied, because the page cannot do it:" }),
        h(
          "ul",
          { class: "muted" },
          cannot.map((text) => h("li", { text })),
        ),
      ),
  ];
  if (!steps.length) {
    await confirm("Nothing here can be applied", body, "All right");
    return;
  }
  if (!(await confirm("Apply these changes to the cluster?", body, "Apply"))) return;
  let done = 0;
  try {
    for (const step of steps) {
      await step.run();
      done++;
    }
    toast(done === 1 ? "The change is made" : `${done} changes are made`);
  } catch (error) {
    toast(`${done} of ${steps.length} changes are made; then: ${error.message}`, "bad");
  }
}

function plan(scenario, base) {
  const steps = [];
  const cannot = [];
  if (scenario.mechanism)
    steps.push({
      text: `mechanism ${scenario.mechanism} instead of ${base.mechanism_before}`,
      run: () => api.patch("/settings", { mechanism: scenario.mechanism }),
    });
  const own = new Map(state.overview.tenants.map((t) => [t.name, t.weight]));
  for (const [tenant, weight] of Object.entries(scenario.weights ?? {})) {
    steps.push({
      text: `weight ${figure(weight)} instead of ${figure(own.get(tenant))} for ${tenant}`,
      run: () => api.patch(`/tenants/${part(tenant)}`, { weight }),
    });
  }
  for (const tenant of scenario.added ?? []) {
    steps.push({
      text: `new tenant ${tenant.name} with weight ${figure(tenant.weight)}`,
      run: () => api.post("/tenants", { name: tenant.name, weight: tenant.weight }),
    });
    steps.push({
      text: `its workload \`default\` with the profile of the sliders, as declared`,
      run: () => api.put(`/workloads/${part(tenant.name)}/default`, { throughput: tenant.throughput }),
    });
  }
  for (const tenant of scenario.removed ?? [])
    cannot.push(`${tenant} leaves: removing a tenant cancels its jobs; \`oef tenant remove\` does it`);
  for (const [type, count] of Object.entries(scenario.gpus ?? {}))
    cannot.push(`${count} GPUs of ${type}: GPUs come and go with their machines; the view Cluster drains nodes`);
  return { steps, cannot };
}
