package cli

import (
	"io"

	"github.com/agentruntime/agentruntime/cli/internal/redaction"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/spf13/cobra"
)

// output shows the results of a command.
type output struct {
	*terminal.Streams
	cmd *cobra.Command
	// format is the value of --format, and text for a command without the flag.
	format string
	// redact hides secrets.
	redact func(string) string
}

// newOutput returns the output of a command.
func newOutput(s *terminal.Streams, cmd *cobra.Command, redact func(string) string) *output {
	o := &output{Streams: s, cmd: cmd, format: "text", redact: redact}
	if f := cmd.Flag("format"); f != nil {
		o.format = f.Value.String()
	}
	return o
}

// unredacted is the redact function for texts without secrets.
func unredacted(text string) string { return text }

// show writes a record as JSON or as the text that describes it.
func (o *output) show(record any, text string) error {
	if o.format == "json" {
		return o.json(record, nil)
	}
	_, err := io.WriteString(o.Out, o.redact(text))
	return err
}

// json writes a record as JSON unless reading it failed.
func (o *output) json(record any, err error) error {
	if err != nil {
		return err
	}
	return redaction.Write(o.Out, record, o.redact)
}
