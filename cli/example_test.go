package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// ticketConfig is a tool of type ticket in a configuration.
type ticketConfig struct {
	Queue string `json:"queue" doc:"Where tickets go: billing or shipping."`
}

// Validate returns the mistakes in the settings, each at its field.
func (c *ticketConfig) Validate() diag.List {
	if c.Queue == "billing" || c.Queue == "shipping" {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, "queue", "queue is %q; it must be billing or shipping", c.Queue)}
}

type ticket struct {
	Title string `json:"title"`
}

func newTicketTool(_ tools.Settings, c *ticketConfig) (tools.Tool, error) {
	return &tools.Func[ticket, string]{
		Description: "Opens a ticket in the queue " + c.Queue + ".",
		Run:         func(_ context.Context, in ticket) (string, error) { return "opened " + in.Title, nil },
	}, nil
}

const withMistake = `version: 1
providers:
  demo: {type: scripted}
models:
  default: {provider_id: demo, upstream_model: demo}
tools:
  open_ticket: {type: ticket, queue: biling}
agents:
  support: {model_id: default, allowed_tools: [open_ticket]}
`

// Example is the runtime command with a custom tool kind and a custom command. A program calls
// cli.Main, which runs the command line of the process.
func Example() {
	components := shipped.Components()
	components.Kinds.Tools = append(components.Kinds.Tools, spec.NewKind("ticket", "Opens a ticket.", newTicketTool))
	settings := cli.Settings{
		Components: components,
		Version:    "v0.1.0",
		Commands: []cli.Command{{
			Name: "queues", Summary: "List the queues of tickets",
			Run: func(_ context.Context, in *cli.Invocation) error {
				_, err := fmt.Fprintln(in.Out, "billing\nshipping")
				return err
			},
		}},
	}

	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(withMistake), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	for _, args := range [][]string{{"queues"}, {"validate", file}} {
		var out bytes.Buffer
		code := cli.Run(context.Background(), settings, args, strings.NewReader(""), &out, &out)
		fmt.Printf("%sexit code %d\n", strings.ReplaceAll(out.String(), dir+string(filepath.Separator), ""), code)
	}
	// Output:
	// billing
	// shipping
	// exit code 0
	// error[invalid-value]: queue is "biling"; it must be billing or shipping
	//   --> config.yaml:7:38
	//    |
	//  7 |   open_ticket: {type: ticket, queue: biling}
	//    |                                      ^^^^^^
	//
	// 1 error in 1 agent
	// exit code 1
}
