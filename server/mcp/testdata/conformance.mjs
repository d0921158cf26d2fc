// Runs a scenario of the conformance suite.
import assert from "node:assert";
import {spawnSync} from "node:child_process";

const [, , url, version, scenario] = process.argv;
const node = `node_modules/node-${process.platform}-${process.arch}/bin/node`;
const {stdout, stderr, status} = spawnSync(
  node, ["node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", url, "--scenario", scenario, "--spec-version", version],
  {encoding: "utf8"},
);
assert.equal(status, 0, stdout + stderr);
