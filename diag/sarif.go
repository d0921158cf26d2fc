package diag

import (
	"cmp"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The parts of a SARIF 2.1.0 log used by the rendering, with the standard's names.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   Code               `json:"id"`
		ShortDescription     sarifMessage       `json:"shortDescription"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID           Code            `json:"ruleId,omitempty"`
		RuleIndex        *int            `json:"ruleIndex,omitempty"`
		Level            string          `json:"level"`
		Message          sarifMessage    `json:"message"`
		Locations        []sarifLocation `json:"locations,omitempty"`
		RelatedLocations []sarifLocation `json:"relatedLocations,omitempty"`
		Properties       *sarifBag       `json:"properties,omitempty"`
		// Suppressions is nil unless a result of the run is suppressed: the standard requires it in
		// all results or in none.
		Suppressions *[]sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification,omitempty"`
	}
	sarifBag struct {
		Agent string `json:"agent"`
	}
	sarifLocation struct {
		PhysicalLocation *sarifPhysical `json:"physicalLocation,omitempty"`
		LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
		Message          *sarifMessage  `json:"message,omitempty"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

func (r *Report) renderSARIF(w io.Writer) error {
	rules, index := sarifRules()
	results := make([]sarifResult, 0, len(r.Diagnostics)+len(r.Suppressed))
	for i := range r.Diagnostics {
		result := sarifResultOf(&r.Diagnostics[i], index)
		if len(r.Suppressed) > 0 {
			result.Suppressions = &[]sarifSuppression{}
		}
		results = append(results, result)
	}
	for i := range r.Suppressed {
		result := sarifResultOf(&r.Suppressed[i].Diagnostic, index)
		result.Suppressions = &[]sarifSuppression{{Kind: "inSource", Justification: r.Suppressed[i].Reason}}
		results = append(results, result)
	}
	return encodeJSON(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:       sarifTool{Driver: sarifDriver{Name: "runtime", Version: r.Version, Rules: rules}},
			ColumnKind: "unicodeCodePoints",
			Results:    results,
		}},
	})
}

// sarifRules describes every code as a rule; index holds the position of each.
func sarifRules() (rules []sarifRule, index map[Code]int) {
	index = make(map[Code]int, len(codes))
	for i, info := range codes {
		index[info.Code] = i
		rules = append(rules, sarifRule{
			ID:                   info.Code,
			ShortDescription:     sarifText(info.Summary),
			DefaultConfiguration: sarifConfiguration{Level: sarifLevel(info.Severity)},
		})
	}
	return rules, index
}

func sarifResultOf(d *Diagnostic, index map[Code]int) sarifResult {
	result := sarifResult{
		RuleID:  d.Code,
		Level:   sarifLevel(d.Severity),
		Message: sarifText(d.textWithHint()),
	}
	if i, ok := index[d.Code]; ok {
		result.RuleIndex = &i
	}
	if place, ok := sarifPlace(d.Span, d.Path); ok {
		result.Locations = []sarifLocation{place}
	}
	for i, related := range d.Related {
		if slices.Contains(d.Related[:i], related) {
			continue // the standard allows each place once
		}
		place, _ := sarifPlace(related.Span, related.Path)
		message := sarifText(related.Message)
		place.Message = &message
		result.RelatedLocations = append(result.RelatedLocations, place)
	}
	if d.Agent != "" {
		result.Properties = &sarifBag{Agent: d.Agent}
	}
	return result
}

// sarifPlace describes a place; ok is false if nothing is known about it.
func sarifPlace(span Span, path string) (place sarifLocation, ok bool) {
	at := span.normalizedSpan()
	if at.File != "" {
		place.PhysicalLocation = &sarifPhysical{ArtifactLocation: sarifArtifact{URI: fileURI(at.File)}}
		if at.Line > 0 {
			place.PhysicalLocation.Region = &sarifRegion{
				StartLine: at.Line, StartColumn: at.Column, EndLine: at.EndLine, EndColumn: at.EndColumn,
			}
		}
	}
	if path != "" {
		place.LogicalLocations = []sarifLogical{{FullyQualifiedName: path}}
	}
	return place, at.File != "" || path != ""
}

// sarifText converts a text to a message. Braces are doubled as the standard requires, because
// single ones enclose the number of a placeholder.
func sarifText(text string) sarifMessage {
	return sarifMessage{Text: strings.NewReplacer("{", "{{", "}", "}}").Replace(text)}
}

// sarifLevel returns the standard's name of a severity.
func sarifLevel(s Severity) string {
	return cmp.Or(map[Severity]string{Warning: "warning", Note: "note"}[s], "error")
}

// fileURI returns the URI of a file: a relative one if the file's name is relative, otherwise a
// file URI.
func fileURI(file string) string {
	name := path.Clean(filepath.ToSlash(file))
	if !filepath.IsAbs(file) {
		return (&url.URL{Path: name}).String()
	}
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}
