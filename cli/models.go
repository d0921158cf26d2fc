package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/spf13/cobra"
)

// modelList is what models prints.
type modelList struct {
	// Date is the day on which the catalog was written.
	Date   string           `json:"date"`
	Models []*catalog.Model `json:"models"`
}

func newModels(p *program) *cobra.Command {
	var format *choice
	var vendor string
	cmd := &cobra.Command{
		Use:   "models [PATTERN]",
		Short: "List the models of the catalog",
		Long: `models lists the models of the built-in catalog: their context windows, limits and list
prices in USD per million tokens. PATTERN is a glob that the names must match.

A model of a configuration uses the catalog for every field that it does not set.

Exit codes: 0 done, 2 usage.`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := findModels(vendor, strings.Join(args, ""))
			if err != nil {
				return usagef(cmd, "%w", err)
			}
			if format.String() == "json" {
				return writeJSON(p.out, list)
			}
			return writeTable(p.out, list.rows())
		},
	}
	format = formatFlag(cmd, "text", "json")
	cmd.Flags().StringVar(&vendor, "vendor", "", "only models of this vendor, such as openai")
	return cmd
}

// findModels returns the models of a vendor, or of all, whose names match a glob; an empty
// one matches all.
func findModels(vendor, glob string) (*modelList, error) {
	if glob == "" {
		glob = "**"
	}
	matches, err := pattern.Compile(glob)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", glob, err)
	}
	list := &modelList{Date: catalog.Date(), Models: []*catalog.Model{}}
	for _, m := range catalog.All() {
		if (vendor == "" || m.Vendor == vendor) && matches.Match(m.Name) {
			list.Models = append(list.Models, m)
		}
	}
	return list, nil
}

// rows returns the table of the models.
func (l *modelList) rows() [][]string {
	rows := [][]string{{"VENDOR", "MODEL", "CONTEXT", "OUTPUT", "READS", "INPUT", "OUTPUT", "CACHED", "CUTOFF", "RETIRES"}}
	for _, m := range l.Models {
		input, output, cached := listedPrices(m.Pricing)
		rows = append(rows, []string{
			m.Vendor, m.Name, countOrDash(m.ContextWindow), countOrDash(m.MaxOutput), spec.JoinModalities(m.Modalities.Input, ","),
			input, output, cached, orDash(m.KnowledgeCutoff), orDash(m.Retires),
		})
	}
	return rows
}

func countOrDash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func listedPrices(p *spec.Pricing) (input, output, cached string) {
	if p == nil {
		return "-", "-", "-"
	}
	cached = "-"
	if p.CachedInputPerMillion != nil {
		cached = fmt.Sprintf("%g", *p.CachedInputPerMillion)
	}
	return fmt.Sprintf("%g", p.InputPerMillion), fmt.Sprintf("%g", p.OutputPerMillion), cached
}
