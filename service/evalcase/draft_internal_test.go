package evalcase

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDollarsOfATurnAreRead checks that case files preserve the text of a turn.
func TestDollarsOfATurnAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"costs $5": "costs $5", "$$a+b$$": "$$$$a+b$$$$", "${x}": "$${x}", "$${x}": "$$$${x}", "$$$": "$$$$$$", "a$": "a$",
	} {
		var written string
		if err := json.Unmarshal([]byte(flow(text)), &written); err != nil || written != want || strings.ReplaceAll(written, "$$", "$") != text {
			t.Errorf("%s is written as %s, %v", text, written, err)
		}
	}
}
