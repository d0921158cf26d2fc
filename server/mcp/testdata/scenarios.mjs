// Checks that each scenario of the conformance suite for a role is run, or skipped for a reason.
import assert from "node:assert";
import {spawnSync} from "node:child_process";

const [, , role, runs, reasons] = process.argv;
const node = `node_modules/node-${process.platform}-${process.arch}/bin/node`;
const {stdout, stderr} = spawnSync(node, ["node_modules/@modelcontextprotocol/conformance/dist/index.js", "list"], {encoding: "utf8"});
const section = stdout.split(/^(?=\S)/m).find((s) => s.startsWith(`${role} scenarios`));
assert.ok(section, stdout + stderr);
const listed = new Map([...section.matchAll(/^ +- (\S+) \[(.*)\]$/gm)].map(([, name, versions]) => [name, versions.split(",")]));
assert.ok(listed.size > 40, `${listed.size} scenarios are listed`);
const run = Object.entries(JSON.parse(runs)).flatMap(([version, names]) => names.map((name) => [version || "extension", name]));
for (const [version, name] of run) {
  assert.ok(listed.get(name)?.includes(version), `${name} is run, but is no scenario of ${version}`);
}
const skipped = JSON.parse(reasons);
for (const name of Object.keys(skipped)) {
  assert.ok(listed.has(name), `${name} is skipped, but is no scenario`);
}
const known = run.map(([, name]) => name);
for (const name of listed.keys()) {
  assert.ok(known.includes(name) !== name in skipped, `${name} is ${name in skipped ? "run and skipped" : "neither run nor skipped"}`);
}
