package turnview

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/display"
	"github.com/agentruntime/agentruntime/runtime"
)

// Transcript writes turns' events as lines for a reader, each prefixed with the speaker. Text
// from a model is shown as it is; everything else is one redacted line.
type Transcript struct {
	out    io.Writer
	redact func(string) string

	reader display.Reader
	// open is the prefix of the current text line; empty at the start of a line.
	open string
	// streamed is set if the current answer was shown in parts, and answered once any text of the
	// turn was shown.
	streamed, answered bool
	delegates          Delegates[*Transcript]
	failed             error
}

// NewTranscript returns a transcript for the events of one turn.
func NewTranscript(out io.Writer, redact func(string) string) *Transcript {
	t := &Transcript{out: out, redact: redact}
	t.Begin()
	return t
}

// Begin prepares the transcript for the events of another turn.
func (t *Transcript) Begin() {
	t.reader, t.streamed, t.answered = display.Reader{}, false, false
	t.delegates = Delegates[*Transcript]{out: t.out, Open: func(out io.Writer) *Transcript { return NewTranscript(out, t.redact) }}
}

// Emit shows an event of a turn while it runs.
func (t *Transcript) Emit(ev event.Event) {
	record, err := event.NewRecord(ev)
	if err != nil {
		t.keepError(err)
		return
	}
	t.keepError(t.ShowRecord(&record))
}

// ShowRecord shows a record of a turn's log.
func (t *Transcript) ShowRecord(record *event.Record) error {
	if len(record.Path) > 0 {
		return t.showDelegate(record)
	}
	events, err := t.reader.Read(record)
	if err != nil {
		return err
	}
	if record.Type == event.TypeRunFinish {
		t.showResult(record.Data)
	}
	for i := range events {
		t.show(&events[i])
	}
	return nil
}

// showDelegate shows a record of a delegate.
func (t *Transcript) showDelegate(record *event.Record) error {
	t.endLine()
	view := t.delegates.View(record)
	own := *record
	own.Path = nil
	if err := view.Shown.ShowRecord(&own); err != nil {
		return err
	}
	if record.Type == event.TypeRunFinish {
		view.Shown.endLine()
	}
	return view.Shown.failed
}

// showResult writes an ending turn's answer: its text, unless already shown, and again with
// indentation if it is an object or a list.
func (t *Transcript) showResult(data json.RawMessage) {
	var d event.RunFinish
	if json.Unmarshal(data, &d) != nil || d.Result == nil || d.Result.Response == "" {
		return
	}
	if structured, ok := indentStructured(d.Result.Response); ok {
		t.endLine()
		t.write("structured> " + structured)
		t.open = "structured"
	} else if !t.answered {
		t.endLine()
		t.write("assistant> " + d.Result.Response)
		t.open = "assistant"
	}
}

// indentStructured returns an answer that is a JSON object or list with one member per line.
func indentStructured(answer string) (string, bool) {
	answer = strings.TrimSpace(answer)
	if !strings.HasPrefix(answer, "{") && !strings.HasPrefix(answer, "[") {
		return "", false
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(answer), "", "  ") != nil {
		return "", false
	}
	return b.String(), true
}

// show writes an event. An event without a display is shown by its type; a private one is hidden.
func (t *Transcript) show(e *display.Event) {
	d, visible := e.Readable()
	switch {
	case !visible:
		return
	case d != nil:
	case e.Type == display.TypeTurnCompleted:
		t.writeLine("turn", "completed (%s)", usageLine(e.Data))
		return
	default:
		t.writeLine("event", "%s (seq=%d) %s", e.Type, e.Seq, e.Data)
		return
	}
	switch d.Kind {
	case display.KindText:
		t.showText("assistant", d)
	case display.KindReasoning:
		t.showText("reasoning", d)
	case display.KindTool:
		t.writeLine("tool", "%s", toolLine(d))
	case display.KindInteraction:
		t.writeLine("interaction", "%s (%s)", d.Phase, d.Ref)
	case display.KindError:
		t.writeLine("error", "%s", cmp.Or(d.Text, string(d.Error)))
	default:
		t.showStatus(e, d)
	}
}

// showStatus writes a change of the turn, or of a delegate.
func (t *Transcript) showStatus(e *display.Event, d *display.Display) {
	switch {
	case e.Type != display.TypeDelegate:
		t.writeLine("turn", "%s", StatusLine(d))
	case d.Phase != display.PhaseStarted: // which its call shows
		t.writeLine("delegate", "%s", d.Text)
	}
}

// showText writes the model's text: the parts after one prefix, or the whole text if no parts
// were shown.
func (t *Transcript) showText(speaker string, d *display.Display) {
	t.answered = t.answered || speaker == "assistant" && d.Text != ""
	if d.Phase == display.PhaseDelta {
		t.streamed = t.streamed || speaker == "assistant"
		if t.open != speaker {
			t.endLine()
			t.write(speaker + "> ")
			t.open = speaker
		}
		t.write(d.Text)
		return
	}
	if !t.streamed && d.Text != "" {
		t.endLine()
		t.write(speaker + "> " + d.Text)
		t.open = speaker
	}
	t.streamed = false
	t.endLine()
}

// toolLine describes a call or its result.
func toolLine(d *display.Display) string {
	name := cmp.Or(d.Label, d.Ref)
	line := strings.TrimSpace(d.Action + " " + name)
	switch d.Phase {
	case display.PhaseStarted:
		return JoinParts(line, string(d.Input))
	case display.PhaseProgress:
		return JoinParts(line+":", d.Text)
	case display.PhaseFailed, display.PhaseCanceled:
		return JoinParts(line+":", cmp.Or(d.Text, string(d.Error)))
	default:
		if d.Text != "" {
			line += " (" + d.Text + ")"
		}
		line = JoinParts(line, string(d.Output))
		if len(d.Error) > 0 {
			line = JoinParts(line+":", string(d.Error))
		}
		return line
	}
}

// StatusLine describes a change of a turn's state.
func StatusLine(d *display.Display) string {
	switch {
	case d.Label != "" && d.Label != "turn":
		return JoinParts(d.Label+":", d.Text)
	case d.Phase == display.PhaseProgress:
		return d.Text
	case d.Text == "":
		return string(d.Phase)
	default:
		return fmt.Sprintf("%s (%s)", d.Phase, d.Text)
	}
}

// usageLine describes a turn's usage from its last event.
func usageLine(data json.RawMessage) string {
	var used struct {
		Steps int         `json:"steps"`
		Usage event.Usage `json:"usage"`
		Cost  *event.Cost `json:"cost"`
	}
	_ = json.Unmarshal(data, &used) // missing fields are not shown
	var result runtime.Result
	result.Steps, result.Usage, result.Cost = used.Steps, used.Usage, used.Cost
	return strings.TrimPrefix(Summary(&result), "= ")
}

// JoinParts joins the nonempty parts of a line.
func JoinParts(head, tail string) string { return strings.TrimRight(head+" "+tail, " ") }

// writeLine writes a separate line.
func (t *Transcript) writeLine(prefix, format string, args ...any) {
	t.endLine()
	t.write(prefix + "> " + terminal.OneLine(t.redact(fmt.Sprintf(format, args...))) + "\n")
}

// endLine ends an open line of text.
func (t *Transcript) endLine() {
	if t.open != "" {
		t.open = ""
		t.write("\n")
	}
}

func (t *Transcript) write(text string) {
	_, err := io.WriteString(t.out, text)
	t.keepError(err)
}

func (t *Transcript) keepError(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// Close ends the output. It returns the first error of writing it.
func (t *Transcript) Close() error {
	t.endLine()
	t.keepError(t.delegates.flush())
	if t.failed != nil {
		return fmt.Errorf("write the output: %w", t.failed)
	}
	return nil
}
