package cli

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/spf13/cobra"
)

// choice is a flag with a closed list of values.
type choice struct {
	value   string
	allowed []string
	// values are all values of a repeated flag.
	values []string
}

// String returns the value.
func (c *choice) String() string { return c.value }

// Type names the flag's type in the help text.
func (*choice) Type() string { return "string" }

// choices returns the list.
func (c *choice) choices() []string { return c.allowed }

// Set accepts a value of the list.
func (c *choice) Set(value string) error {
	for _, a := range c.allowed {
		if a == value {
			c.value, c.values = value, append(c.values, value)
			return nil
		}
	}
	if near, ok := nearest.Of(value, c.allowed); ok {
		return fmt.Errorf("did you mean %q?", near)
	}
	return fmt.Errorf("choose %s", strings.Join(c.allowed, ", "))
}

// formatFlag adds --format; the first format is the default.
func formatFlag(cmd *cobra.Command, formats ...string) *choice {
	c := &choice{value: formats[0], allowed: formats}
	usage := "output format: " + formats[0]
	for _, f := range formats[1:] {
		usage += ", " + f
	}
	cmd.Flags().Var(c, "format", usage)
	return c
}
