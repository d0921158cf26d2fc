// Package catalog lists public data about vendors' models: context windows, limits, prices. The
// table is part of the program and is dated.
package catalog

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/spec"
)

// table is written by generate.py, which make catalog runs: one line per model, sorted, with
// tab-separated fields.
//
//go:embed models.tsv
var table string

// Model is the catalog data of a model. Unknown fields are zero.
type Model struct {
	// Vendor is the vendor that serves the model, such as openai, and Name the vendor's name for
	// it.
	Vendor string `json:"vendor"`
	Name   string `json:"model"`
	// ContextWindow is the maximum number of tokens in a request, MaxOutput the maximum in an
	// answer.
	ContextWindow int `json:"context_window,omitempty"`
	MaxOutput     int `json:"max_output_tokens,omitempty"`
	// Modalities are the kinds of content that the model reads and writes.
	Modalities spec.Modalities `json:"modalities"`
	// Pricing is the vendor's list price; nil if unknown.
	Pricing *spec.Pricing `json:"pricing,omitempty"`
	// KnowledgeCutoff is the end of the model's knowledge, as YYYY-MM or YYYY-MM-DD.
	KnowledgeCutoff string `json:"knowledge_cutoff,omitempty"`
	// Retires is the day when the vendor stops serving the model, as YYYY-MM-DD.
	Retires string `json:"retires,omitempty"`
	// Traits are the features of the model's API: tools, parallel_tools, reasoning,
	// structured_output, prompt_cache. no_sampling rejects temperature and similar parameters.
	Traits []string `json:"traits,omitempty"`
}

// Listed is implemented by executors whose models may be in the catalog. Their vendor's name is
// empty for an unknown server.
type Listed interface {
	CatalogVendor() string
}

// models is the parsed table, by vendor and name.
var models = sync.OnceValue(func() map[[2]string]*Model {
	all := make(map[[2]string]*Model)
	for line := range strings.Lines(table) {
		if m := parseLine(line); m != nil {
			all[[2]string{m.Vendor, m.Name}] = m
		}
	}
	return all
})

// parseLine returns the model on a line of the table; nil for a comment.
func parseLine(line string) *Model {
	f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	const fields = 12
	if strings.HasPrefix(line, "#") || len(f) != fields {
		return nil
	}
	m := &Model{Vendor: f[0], Name: f[1], KnowledgeCutoff: f[9], Retires: f[10]}
	m.ContextWindow, _ = strconv.Atoi(f[2])
	m.MaxOutput, _ = strconv.Atoi(f[3])
	m.Modalities = spec.Modalities{Input: modalities(f[4]), Output: modalities(f[5])}
	if input, err := strconv.ParseFloat(f[6], 64); err == nil {
		m.Pricing = &spec.Pricing{InputPerMillion: input, Currency: spec.DefaultCurrency}
		m.Pricing.OutputPerMillion, _ = strconv.ParseFloat(f[7], 64)
		if cached, err := strconv.ParseFloat(f[8], 64); err == nil {
			m.Pricing.CachedInputPerMillion = &cached
		}
	}
	if f[11] != "" {
		m.Traits = strings.Split(f[11], ",")
	}
	return m
}

func modalities(list string) []spec.Modality {
	var all []spec.Modality
	for name := range strings.SplitSeq(list, ",") {
		all = append(all, spec.Modality(name))
	}
	return all
}

// Find returns the data of a model. The result is shared: do not change it.
func Find(vendor, name string) (*Model, bool) {
	m, ok := models()[[2]string{vendor, name}]
	return m, ok
}

// All returns all models, by vendor and name.
func All() []*Model {
	all := make([]*Model, 0, len(models()))
	for _, m := range models() {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *Model) int {
		if c := strings.Compare(a.Vendor, b.Vendor); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// Date returns the day when the table was written, as YYYY-MM-DD.
func Date() string {
	_, after, _ := strings.Cut(table, "# date: ")
	date, _, _ := strings.Cut(after, "\n")
	return date
}

// hosts are the hosts of vendors' APIs; an entry that starts with a dot is a suffix.
var hosts = []struct{ host, vendor string }{
	{"api.openai.com", "openai"},
	{"api.anthropic.com", "anthropic"},
	{"generativelanguage.googleapis.com", "google"},
	{".openai.azure.com", "azure_openai"},
	{".cognitiveservices.azure.com", "azure_openai"},
	{".services.ai.azure.com", "azure_openai"},
	{"api.mistral.ai", "mistral"},
	{"api.deepseek.com", "deepseek"},
	{"api.groq.com", "groq"},
	{"api.x.ai", "xai"},
}

// VendorOf returns the vendor whose API a host serves, or "" for an unknown host: a gateway may
// have other prices.
func VendorOf(host string) string {
	host = strings.ToLower(host)
	for _, h := range hosts {
		if host == h.host || h.host[0] == '.' && strings.HasSuffix(host, h.host) {
			return h.vendor
		}
	}
	return ""
}
