package spec_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever texts, references and values are put together, the prompt shows the texts and
// the values as they are.
func TestPropertyPromptsShowTextsAndValuesAsTheyAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("${turn.a}}b \n")))
		pieces := rapid.SampledFrom([]string{"$", "{turn.", "${turn.", "${turn.a}", "a}", "$$", "é"})
		values := map[string]string{"a": text.Draw(t, "a"), "_b1": text.Draw(t, "b")}
		var prompt spec.Prompt
		var want strings.Builder
		var names []string
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			if name := rapid.SampledFrom([]string{"", "", "a", "_b1"}).Draw(t, "name"); name != "" {
				prompt = spec.Prompt(spec.Template(prompt).WithReference(spec.Reference{Scope: spec.TurnScope, Name: name}))
				want.WriteString(values[name])
				if !strings.Contains(strings.Join(names, " "), name) {
					names = append(names, name)
				}
				continue
			}
			if len(prompt) > 0 && !strings.HasSuffix(string(prompt), "}") {
				continue // two texts are quoted as one
			}
			part := pieces.Draw(t, "text") + pieces.Draw(t, "text") + text.Draw(t, "text")
			prompt += spec.QuotePrompt(part + "|") // so that two parts never join
			want.WriteString(part + "|")
		}
		if got := prompt.Fill(func(r spec.Reference) string { return values[r.Name] }); got != want.String() {
			t.Fatalf("%q shows %q, want %q", prompt, got, want.String())
		}
		if diff := cmp.Diff(names, prompt.References(spec.TurnScope)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPromptsOfFiles(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"${turn.a}": "A", "$${turn.a}": "${turn.a}", "$$${turn.a}": "$A", "$$$${turn.a}": "$${turn.a}", "${turn.}": "${turn.}",
		"${turn.a": "${turn.a", "${turn.a b}": "${turn.a b}", "$ ${a} $${a}": "$ ${a} $${a}", "x${turn.a}${turn.a}y": "xAAy",
	} {
		if got := spec.Prompt(prompt).Fill(func(spec.Reference) string { return "A" }); got != want {
			t.Errorf("%q shows %q, want %q", prompt, got, want)
		}
	}
}
