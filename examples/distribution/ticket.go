package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// queues are the queues that the team handles.
var queues = []string{"billing", "shipping", "security"}

//docs:region kind

// ticketConfig is a tool of type ticket in a configuration. Its tags define the schema, the
// reference and the checks.
type ticketConfig struct {
	Queue    string `json:"queue" doc:"Where tickets go: billing, shipping or security."`
	File     string `json:"file" doc:"The file that tickets are added to, one JSON object a line."`
	Priority int    `json:"priority,omitempty" default:"3" doc:"The priority of the tickets, from 1 to 5."`
}

//docs:end

//docs:region validate

// Validate returns the errors in the settings, each at its field.
func (c *ticketConfig) Validate() diag.List {
	var found diag.List
	if !slices.Contains(queues, c.Queue) {
		found = append(found, diag.New(diag.InvalidValue, "queue", "queue is %q; the team works on %s", c.Queue, strings.Join(queues, ", ")))
	}
	if c.Priority < 0 || c.Priority > 5 {
		found = append(found, diag.New(diag.InvalidValue, "priority", "priority is %d; it must be 1 to 5", c.Priority))
	}
	return found
}

//docs:end

//docs:region make

// ticketKind is the tool type ticket.
func ticketKind() tools.Kind {
	return spec.NewKind("ticket", "Opens a ticket for the team.", newTicketTool)
}

// ticketInput is the input of the tool.
type ticketInput struct {
	Title string `json:"title" jsonschema:"What the ticket is about, in one line."`
}

func newTicketTool(s tools.Settings, c *ticketConfig) (tools.Tool, error) {
	path := c.File
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	config := *c
	return &tools.Func[ticketInput, string]{
		Description: "Opens a ticket in the queue " + c.Queue + ".",
		Effect:      tools.Once, // a ticket must not be opened twice
		Run: func(_ context.Context, in ticketInput) (string, error) {
			return "The ticket is open.", appendTicket(path, in.Title, &config)
		},
	}, nil
}

//docs:end

func appendTicket(path, title string, c *ticketConfig) error {
	line, err := json.Marshal(map[string]any{"title": title, "queue": c.Queue, "priority": c.Priority})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(file, "%s\n", line); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
