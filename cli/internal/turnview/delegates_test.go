package turnview

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
)

func TestDelegatesAreToldApart(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	shown := NewTranscript(&out, func(s string) string { return s })
	for _, ev := range turntest.DelegateLog() {
		shown.Emit(ev)
	}
	if err := shown.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `turn> started (running)
[clerk] turn> started (running)
[clerk#2] turn> started (running)
[clerk] assistant> one more
[clerk] tool> Running copy {}
[clerk#2] assistant> two
[clerk#2] tool> Running sort {}
[clerk] tool> Ran copy (succeeded) "copied"
[clerk#2] error> no ink
assistant> Done.
turn> completed (1 step)
[clerk#2/c9] assistant> without a beginning
`
	if out.String() != want {
		t.Errorf("the transcript is\n%s\nand should be\n%s", out.String(), want)
	}
}
