package cli

import (
	"fmt"
	"testing"
)

// Common beginner mistakes give one diagnostic each, at the right position, with a hint that names
// the remedy.
func TestMistakesOfNewcomersHaveOneDiagnosticWithAHint(t *testing.T) {
	t.Parallel()
	const head = `version: 1
providers:
  demo: {type: scripted}
models:
  main: {provider_id: demo, upstream_model: demo}
`
	const agent = head + "agents:\n  a:\n    model_id: main\n"
	const tool = head + "agents:\n  a: {model_id: main}\ntools:\n  t:\n    type: "
	const badSchema = tool + "command\n    description: d\n    command: [wc]\n    parameters:\n      type: object\n      properties:\n        text: "
	for name, tt := range map[string]struct{ text, want string }{
		"fields beside their agent": {
			head + "agents:\n  a:\n  model_id: main\n  system_prompt: Be brief.\n",
			"8:3 indent it, and the fields after it, further than a",
		},
		"fields beside the second agent": {
			head + "agents:\n  b: {model_id: main}\n  a:\n  model_id: main\n",
			"9:3 indent it, and the fields after it, further than a",
		},
		"one space too few": {
			agent + "   system_prompt: x\n",
			"9:4 begin all fields of one mapping in the same column, and if text follows a closing quote, quote the whole value",
		},
		"a misspelled list of tools": {agent + "    alowed_tools: [wc]\n", "9:5 did you mean \"allowed_tools\"?"},
		"an indentation with a tab":  {head + "agents:\n  a:\n    description: d\n\tmodel_id: main\n", "9:1 indent with spaces: there is a U+0009 tab at column 1"},
		"a Markdown code block":      {"```yaml\n" + agent + "```\n", "1:1 remove the lines of the Markdown code block"},
		"a pattern without quotes":   {agent + "    allowed_tool_patterns: [*]\n", "9:29 a text that begins with * needs quotes"},
		"a cron line without quotes": {agent + "schedules: {s: {agent: a, prompt: x, cron: */5 * * * *}}\n", "9:48 a text that begins with * needs quotes"},
		"an ampersand":               {agent + "    description: & more\n", "9:18 a text that begins with & needs quotes"},
		"a file after @":             {agent + "    system_prompt: @prompt.md\n", "9:20 a text that begins with @ needs quotes; the contents of a file are written ${file:path}"},
		"an open quote":              {agent + "    system_prompt: \"Be brief.\n    max_rounds: 3\n", "9:20 the quote that opens here is never closed"},
		"a time span in words":       {agent + "    budgets: {max_duration: 5 minutes}\n", "9:29 write 5m"},
		"a time span in days":        {agent + "    budgets: {max_duration: 2d}\n", "9:29 write 48h"},
		"an amount of a currency":    {agent + "    budgets: {max_cost: $5}\n", "9:25 write 5"},
		"another currency":           {agent + "    budgets: {max_cost: 2.50 EUR}\n", "9:25 write 2.50"},
		"a port alone":               {agent + "    description: d\nserver: {listen: 8080}\n", `10:18 write host:port, such as "127.0.0.1:8080"`},
		"a command line": {
			tool + "mcp\n    command: npx -y @scope/server /tmp\n",
			`11:14 write [npx, -y, "@scope/server", /tmp]`,
		},
		"a command alone": {tool + "mcp\n    command: npx\n", "11:14 write [npx]"},
		"a regular expression": {
			agent + "    allowed_tool_patterns: [\"^wc.*$\"]\ntools: {wc: {type: command, description: d, command: [wc]}}\n",
			"9:29 patterns are globs, not regular expressions: * matches any text, and the whole id must match",
		},
		"a property that is required": {badSchema + "{type: string, required: true}\n", "16:40 "},
		"arguments without a schema": {
			tool + "command\n    description: d\n    command: [wc, \"{{text}}\"]\n    parameters: {text: string}\n",
			"13:18 write parameters: {type: object, properties: {text: {type: string}}}",
		},
		"arguments of other languages": {
			tool + "http\n    description: d\n    url: \"https://example.com/{{n}}\"\n    parameters:\n      description: What to look for.\n      n: int\n      deep: {type: bool}\n      list: [string]\n      more: text\n",
			"15:7 write parameters: {type: object, properties: {n: {type: integer}, deep: {…}, list: {…}, …}}",
		},
		"arguments beside the type": {
			tool + "command\n    description: d\n    command: [wc]\n    parameters: {type: object, text: {type: string}, required: [text]}\n",
			"13:32 write parameters: {type: object, properties: {text: {…}}}",
		},
		"fields without a schema":     {badSchema + "{city: string, zip: str}\n", "16:16 write text: {type: object, properties: {city: {type: string}, zip: {type: string}}}"},
		"a type that is misspelled":   {badSchema + "{typ: string}\n", "16:16 write type: string"},
		"an answer without a schema":  {agent + "    output_schema: {schema: {answer: string}}\n", "9:30 write schema: {type: object, properties: {answer: {type: string}}}"},
		"a form of an answer":         {tool + "ask\n    description: d\n    schema: {budget: number}\n", "12:14 write schema: {type: object, properties: {budget: {type: number}}}"},
		"a type of another language":  {badSchema + "{type: str}\n", "16:22 "},
		"retries of an agent":         {agent + "    retry: {max_retries: 2}\n", "9:5 write sections: {retry: {max_retries: …}}, here or under defaults"},
		"yes for true":                {agent + "    description: d\nserver: {console: yes}\n", "10:19 write true"},
		"a pipe in a command":         {tool + "command\n    description: d\n    command: git log | wc\n", `12:14 write [sh, -c, "git log | wc"]`},
		"a placeholder in a prompt":   {agent + "    system_prompt: Greet {{customer}}.\n", "9:20 write ${turn.customer}, and declare it: variables: {type: object, properties: {customer: {type: string}}}"},
		"an argument like a variable": {tool + "command\n    description: d\n    command: [wc, \"${text}\"]\n", "12:19 set it, or write ${text:-default}; an argument of the call is written {{text}}"},
		"a delegate among the tools":  {agent + "    delegates: [b]\n    allowed_tools: [agent_run_b, b]\n  b: {model_id: main, description: d}\n", `10:34 did you mean "agent_run_b"?`},
		"a comment of JSON":           {"{\n  \"version\": 1,\n  // the rest\n  \"agents\": {}\n}\n", "3:3 write comments with #"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := found(t, tt.text)
			if len(list) != 1 {
				t.Fatalf("there are %d diagnostics: %v", len(list), list)
			}
			if got := fmt.Sprintf("%d:%d %s", list[0].Line, list[0].Column, list[0].Hint); got != tt.want {
				t.Errorf("%s: %q, want %q", list[0].Message, got, tt.want)
			}
		})
	}
}
