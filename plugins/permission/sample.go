package permission

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// sampleText stands for any text in a sample of the tools that a pattern matches.
const sampleText = "zzz9"

// SampleTools returns a tool ID that no rule names, and one for each rule whose pattern matches
// none of the known tools.
func (g *gate) SampleTools(known []string) []string {
	samples := []string{sampleText}
	for i := range g.policy.entries {
		tool := &g.policy.entries[i].tool
		if id := tool.sampleID(); tool.matches(id) && !slices.Contains(samples, id) && !slices.ContainsFunc(known, tool.matches) {
			samples = append(samples, id)
		}
	}
	return samples
}

// sampleID returns a text that the pattern probably matches.
func (t *toolPattern) sampleID() string {
	switch t.kind {
	case byName:
		return t.text
	case byGlob:
		return strings.NewReplacer("**", sampleText, "*", sampleText, "?", "z").Replace(t.text)
	default:
		parsed, err := syntax.Parse(t.text, syntax.Perl)
		if err != nil {
			return ""
		}
		return sampleOf(parsed)
	}
}

// sampleOf returns a short text that an expression matches, ignoring its assertions.
func sampleOf(r *syntax.Regexp) string {
	switch r.Op {
	case syntax.OpLiteral:
		return string(r.Rune)
	case syntax.OpCharClass:
		if len(r.Rune) > 0 {
			return string(r.Rune[:1])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "z"
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return sampleOf(r.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(sampleOf(r.Sub[0]), r.Min)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range r.Sub {
			b.WriteString(sampleOf(sub))
		}
		return b.String()
	}
	return ""
}
