package chat

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
)

func TestTheScreenTellsDelegatesApart(t *testing.T) {
	t.Parallel()
	screen := &Screen{redact: func(s string) string { return s }}
	screen.Begin()
	for _, ev := range turntest.DelegateLog() {
		screen.Emit(ev)
	}
	m := &screenModel{screen: screen, pane: pane{width: 80, height: 40, follow: true}}
	for _, change := range screen.takeChanges() {
		change(m)
	}
	var got []string
	for _, b := range m.blocks {
		text := b.text
		if b.call != nil {
			text = b.call.Label + " " + text
		}
		if b.delegate != "" {
			text = b.delegate + ": " + text
		}
		got = append(got, text)
	}
	want := []string{"clerk: one more", "clerk#2: two", "clerk: copy \"copied\"", "clerk#2: sort ", "clerk#2/c9: without a beginning", "clerk#2: no ink", "Done."}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the blocks are\n%s\nand should be\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if lines := m.render(m.blocks[0]); !strings.Contains(lines[0], "[clerk]") {
		t.Errorf("the first block is rendered as %q", lines)
	}
}
