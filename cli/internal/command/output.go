package command

import (
	"io"

	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/spf13/cobra"
)

// Output shows the results of a command.
type Output struct {
	*terminal.Streams
	Cmd *cobra.Command
	// Format is the value of --format, and text for a command without the flag.
	Format string
	// Redact hides secrets.
	Redact func(string) string
}

// NewOutput returns the output of a command.
func NewOutput(s *terminal.Streams, cmd *cobra.Command, redact func(string) string) *Output {
	o := &Output{Streams: s, Cmd: cmd, Format: "text", Redact: redact}
	if f := cmd.Flag("format"); f != nil {
		o.Format = f.Value.String()
	}
	return o
}

// Unredacted is the redact function for texts without secrets.
func Unredacted(text string) string { return text }

// Show writes a record as JSON or as the text that describes it.
func (o *Output) Show(record any, text string) error {
	if o.Format == "json" {
		return o.ShowJSON(record, nil)
	}
	_, err := io.WriteString(o.Out, o.Redact(text))
	return err
}

// ShowJSON writes a record as JSON unless reading it failed.
func (o *Output) ShowJSON(record any, err error) error {
	if err != nil {
		return err
	}
	return redaction.Write(o.Out, record, o.Redact)
}
