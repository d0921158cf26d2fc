package diag

import (
	"encoding/json"
	"io"
)

// jsonReport is the JSON rendering. Diagnostic has its own tags.
type jsonReport struct {
	Valid       bool        `json:"valid"`
	Summary     jsonSummary `json:"summary"`
	Diagnostics List        `json:"diagnostics"`
	// Suppressed is absent when no comment silences anything.
	Suppressed []Suppressed `json:"suppressed,omitempty"`
}

type jsonSummary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	Agents   int `json:"agents"`
}

func (r *Report) renderJSON(w io.Writer) error {
	report := jsonReport{
		Valid: r.Valid(),
		Summary: jsonSummary{
			Errors:   r.Diagnostics.Count(Error),
			Warnings: r.Diagnostics.Count(Warning),
			Infos:    r.Diagnostics.Count(Note),
			Agents:   r.Agents,
		},
		Diagnostics: r.Diagnostics,
		Suppressed:  r.Suppressed,
	}
	if report.Diagnostics == nil {
		report.Diagnostics = List{} // readers rely on an array
	}
	return encodeJSON(w, report)
}

// encodeJSON writes v for machines and people: indented, with the characters of messages unescaped.
func encodeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
