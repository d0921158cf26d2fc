// Lists and calls tools with the command line of the MCP Inspector.
import assert from "node:assert";
import {existsSync} from "node:fs";
import {spawnSync} from "node:child_process";

const [, , url, program] = process.argv;
const machine = `${process.platform}-${process.arch}`;
const node = `node_modules/node-${machine}/bin/node`;
assert.ok(existsSync(node), node);
const inspect = (server, ...args) => {
  const {stdout, stderr, status} = spawnSync(node, ["node_modules/@modelcontextprotocol/inspector/cli/build/cli.js", "--cli", ...server, ...args], {
    encoding: "utf8", env: {...process.env, MCP_TEST_STDIO: "1"}, timeout: 60000,
  });
  assert.equal(status, 0, stdout + stderr);
  return JSON.parse(stdout);
};
for (const server of [[url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer alice"], [program]]) {
  const {tools} = inspect(server, "--method", "tools/list");
  assert.ok(tools.some((t) => t.name === "plain"));
  const result = inspect(server, "--method", "tools/call", "--tool-name", "plain", "--tool-arg", "message=hi");
  assert.equal(result.content[0].text, "You said hi");
}
