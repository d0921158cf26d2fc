package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// helpGroups are the sections of the help, with their commands.
var helpGroups = []struct {
	id, title string
	commands  []string
}{
	{"config", "Write and check a configuration:", []string{"init", "schema", "validate", "explain", "diff", "eval", "models", "doctor"}},
	{"work", "Run and serve agents:", []string{"run", "chat", "serve", "mcp", "provider"}},
	{"store", "Look at and change what is stored:", []string{"sessions", "turns", "events", "workflows", "revisions", "apply", "tenants", "migrate"}},
	{"shell", "Keys and the shell:", []string{"login", "logout", "keys", "completion", "man", "help", "version"}},
}

// ownGroup is the help section of a team's own commands.
const ownGroup = "own"

// examples are the examples in a command's help, by the command's path below the root.
var examples = map[string]string{
	"": `runtime init
runtime validate config.yaml
runtime run config.yaml assistant "How many words are in this question?"`,

	"init": `runtime init
runtime init agents/team.yaml`,
	"models": `runtime models --vendor anthropic
runtime models "gpt-5*" --format json`,
	"schema": `runtime schema > runtime.schema.json`,
	"eval": `runtime eval config.yaml
runtime eval config.yaml evals/refunds.yaml --tag smoke --junit report.xml
runtime eval config.yaml --record --model assistant=cheaper --baseline results.jsonl`,
	"eval schema": `runtime eval schema > evals.schema.json`,
	"eval add":    `runtime eval add config.yaml 0199c3f2-7e57-7000-8000-000000000001 --to evals/refunds.yaml`,
	"validate": `runtime validate config.yaml
runtime validate --strict --format github base.yaml production.yaml`,
	"explain": `runtime explain config.yaml assistant
runtime explain config.yaml assistant --tool word_count
runtime explain config.yaml assistant --call 'word_count {"text":"one two"}'
runtime explain assistant --server https://agents.example`,
	"diff": `runtime diff --fail-on widened before.yaml config.yaml
runtime diff --fail-on widened config.yaml --server https://agents.example`,
	"doctor": `runtime doctor https://agents.example.com/a2a
runtime doctor https://agents.example.com --header "Authorization: Bearer $TOKEN" --format json
runtime doctor config.yaml --provider openai`,

	"run": `runtime run config.yaml assistant "How many words are in this question?"
runtime run config.yaml assistant - < question.txt
RUNTIME_API_KEY=$KEY runtime run --server http://localhost:8080 assistant "Hello" --approve ask`,
	"chat": `runtime chat config.yaml
runtime chat config.yaml assistant --resume
RUNTIME_API_KEY=$KEY runtime chat --server http://localhost:8080 assistant`,
	"serve": `runtime serve config.yaml
runtime serve --listen :8080 --watch config.yaml`,
	"mcp": `runtime mcp config.yaml
runtime mcp config.yaml assistant "support-*" --keep`,

	"sessions": `runtime sessions config.yaml --agent assistant --state active
runtime sessions --server http://localhost:8080 --api-key-file key.txt`,
	"sessions export": `runtime sessions export config.yaml my-session > session.json`,
	"sessions import": `runtime sessions import config.yaml --id my-session < session.json`,
	"turns": `runtime turns config.yaml --status waiting
runtime turns config.yaml --session my-session --format json`,
	"turns create":     `runtime turns create config.yaml assistant "Read the report." --session my-session`,
	"turns cancel":     `runtime turns cancel config.yaml 0199c3f2-7e57-7000-8000-000000000001 --reason "No longer needed"`,
	"turns resolve":    `runtime turns resolve config.yaml 0199c3f2-7e57-7000-8000-000000000001 call_1 --approve`,
	"turns transcript": `runtime turns transcript config.yaml 0199c3f2-7e57-7000-8000-000000000001`,
	"provider":         `runtime provider serve config.yaml`,
	"provider serve":   `runtime provider serve config.yaml --agent clerk`,
	"events": `runtime events config.yaml 0199c3f2-7e57-7000-8000-000000000001 --follow
runtime events --server http://localhost:8080 0199c3f2-7e57-7000-8000-000000000001 --format json`,
	"migrate": `runtime migrate config.yaml`,
	"apply": `runtime apply config.yaml --server https://agents.example --dry-run --fail-on widened
runtime apply config.yaml --server https://agents.example --note "greet customers by name"`,
	"revisions": `runtime revisions list --server https://agents.example
runtime revisions rollback 7 --server https://agents.example`,
	"tenants": `runtime tenants variables list acme --server https://agents.example`,
	"tenants variables": `runtime tenants variables list acme --server https://agents.example
runtime tenants variables set acme CRM_KEY --server https://agents.example < crm.key`,
	"workflows": `runtime workflows runs list --server https://agents.example --status failed
runtime workflows publish --server https://agents.example --type item.updated --data id=item-1`,
	"workflows schedules": `runtime workflows schedules list --server https://agents.example`,
	"workflows schedules create": `runtime workflows schedules create --server https://agents.example --cron "0 9 * * 1-5" --timezone Europe/Berlin --agent clerk --prompt "Plan the day."
runtime workflows schedules create --server https://agents.example --cron @daily --target-file target.json`,
	"workflows schedules update": `runtime workflows schedules update morning --server https://agents.example --cron "0 8 * * 1-5"`,
	"workflows schedules pause":  `runtime workflows schedules pause morning --server https://agents.example`,
	"workflows triggers":         `runtime workflows triggers list --server https://agents.example`,
	"workflows triggers create":  `runtime workflows triggers create --server https://agents.example --type item.updated --tool notify --param 'text=${{ input.id }} has changed'`,
	"workflows runs":             `runtime workflows runs list --server https://agents.example --workflow nightly`,
	"workflows runs show":        `runtime workflows runs show schedule:nightly:2026-01-31T01:00:00Z --server https://agents.example`,
	"workflows runs cancel":      `runtime workflows runs cancel schedule:nightly:2026-01-31T01:00:00Z --server https://agents.example --reason "no longer needed"`,
	"workflows runs answer":      `runtime workflows runs answer schedule:nightly:2026-01-31T01:00:00Z approve_call --server https://agents.example --approve`,
	"workflows schedules list":   `runtime workflows schedules list --server https://agents.example`,
	"workflows schedules show":   `runtime workflows schedules show morning --server https://agents.example`,
	"workflows schedules delete": `runtime workflows schedules delete morning --server https://agents.example`,
	"workflows schedules resume": `runtime workflows schedules resume morning --server https://agents.example`,
	"workflows triggers list":    `runtime workflows triggers list --server https://agents.example`,
	"workflows triggers show":    `runtime workflows triggers show updated --server https://agents.example`,
	"workflows triggers update":  `runtime workflows triggers update updated --server https://agents.example --source shop`,
	"workflows triggers delete":  `runtime workflows triggers delete updated --server https://agents.example`,
	"workflows triggers pause":   `runtime workflows triggers pause updated --server https://agents.example`,
	"workflows triggers resume":  `runtime workflows triggers resume updated --server https://agents.example`,
	"workflows runs list":        `runtime workflows runs list --server https://agents.example --workflow nightly`,
	"workflows publish":          `runtime workflows publish --server https://agents.example --type item.updated --source shop --data id=item-1`,
	"revisions list":             `runtime revisions list --server https://agents.example --limit 5`,
	"revisions show":             `runtime revisions show 4a6c60e8 --server https://agents.example`,
	"revisions diff":             `runtime revisions diff 7 8 --server https://agents.example`,
	"tenants list":               `runtime tenants list --server https://agents.example`,
	"tenants show":               `runtime tenants show acme --server https://agents.example`,
	"tenants check":              `runtime tenants check acme --server https://agents.example`,
	"tenants variables list":     `runtime tenants variables list acme --server https://agents.example`,
	"tenants variables set":      `runtime tenants variables set acme COMPANY --server https://agents.example < company.txt`,
	"tenants variables delete":   `runtime tenants variables delete acme COMPANY --server https://agents.example`,
	"revisions rollback":         `runtime revisions rollback 7 --server https://agents.example --dry-run`,

	"login": `runtime login config.yaml issues
runtime login config.yaml issues --tenant acme --subject ann --scope issues.write`,
	"logout": `runtime logout config.yaml issues
runtime logout config.yaml issues --tenant acme --subject ann`,
	"keys":         `runtime keys new --id ci`,
	"keys new":     `runtime keys new --id ci`,
	"keys refresh": `runtime keys refresh config.yaml my-client --scope runs:read --valid 720h`,
	"version":      `runtime version --format json`,
	"man":          `runtime man ~/.local/share/man/man1`,
	"help":         `runtime help turns create`,
	"completion":   `source <(runtime completion bash)`,

	"completion bash":       `runtime completion bash > ~/.local/share/bash-completion/completions/runtime`,
	"completion zsh":        `runtime completion zsh > "${fpath[1]}/_runtime"`,
	"completion fish":       `runtime completion fish > ~/.config/fish/completions/runtime.fish`,
	"completion powershell": `runtime completion powershell | Out-String | Invoke-Expression`,
}

// arrangeHelp groups the commands under titles and adds their examples.
func arrangeHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, g := range helpGroups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range g.commands {
			for _, cmd := range root.Commands() {
				if cmd.Name() == name {
					cmd.GroupID = g.id
				}
			}
		}
	}
	giveExample(root, root.Name(), "")
}

// giveExample adds the examples of a command and its subcommands, for a program of the given name.
func giveExample(cmd *cobra.Command, program, path string) {
	if text := examples[path]; text != "" {
		cmd.Example = "  " + strings.NewReplacer("\n", "\n  ", defaultName, program).Replace(text)
	}
	for _, below := range cmd.Commands() {
		giveExample(below, program, strings.TrimSpace(path+" "+below.Name()))
	}
}
