package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/spf13/cobra"
)

// Choice is a flag with a closed list of values.
type Choice struct {
	Value   string
	Allowed []string
	// Values are all values of a repeated flag.
	Values []string
}

// String returns the value.
func (c *Choice) String() string { return c.Value }

// Type names the flag's type in the help text.
func (*Choice) Type() string { return "string" }

// Choices returns the list.
func (c *Choice) Choices() []string { return c.Allowed }

// Set accepts a value of the list.
func (c *Choice) Set(value string) error {
	if slices.Contains(c.Allowed, value) {
		c.Value, c.Values = value, append(c.Values, value)
		return nil
	}
	if near, ok := nearest.Of(value, c.Allowed); ok {
		return fmt.Errorf("did you mean %q?", near)
	}
	return fmt.Errorf("choose %s", strings.Join(c.Allowed, ", "))
}

// AddFormatFlag adds --format; the first format is the default.
func AddFormatFlag(cmd *cobra.Command, formats ...string) *Choice {
	c := &Choice{Value: formats[0], Allowed: formats}
	usage := "output format: " + formats[0]
	for _, f := range formats[1:] {
		usage += ", " + f
	}
	cmd.Flags().Var(c, "format", usage)
	return c
}
