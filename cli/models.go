package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/model/catalog"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/spf13/cobra"
)

// modelList is the output of models.
type modelList struct {
	// Date is the date of the catalog.
	Date   string           `json:"date"`
	Models []*catalog.Model `json:"models"`
}

func newModels(p *program) *cobra.Command {
	var vendor string
	var files []string
	var online bool
	cmd := &cobra.Command{
		Use:   "models [PATTERN]",
		Short: "List the models of the catalog, or of a configuration",
		Long: `models lists the models of the built-in catalog: their context windows, limits and list
prices in USD per million tokens. PATTERN is a glob that the names must match.

With --file, models lists what is known of the models of a configuration and the source of
each value: the configuration, or else the server, or else the catalog. The servers are
asked with --online only.

Exit codes: 0 done, 1 the configuration has errors, 2 usage or a file cannot be read.`,
		Args: command.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(files) > 0 {
				return listConfigured(cmd, p, files, strings.Join(args, ""), online)
			}
			if online {
				return command.Usagef(cmd, "--online needs --file")
			}
			if len(args) > 0 && isYAML(args[0]) {
				return command.Usagef(cmd, "%s is the name of a file, not a pattern for names of models; --file %[1]s lists the models of a configuration", args[0])
			}
			list, err := findModels(vendor, strings.Join(args, ""))
			if err != nil {
				return command.Usagef(cmd, "%w", err)
			}
			return list.show(command.NewOutput(&p.Streams, cmd, command.Unredacted), vendor, strings.Join(args, ""))
		},
	}
	command.AddFormatFlag(cmd, "text", "json")
	cmd.Flags().StringVar(&vendor, "vendor", "", "only models of this vendor, such as openai")
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "list the models of this configuration `FILE`; can be repeated")
	cmd.Flags().BoolVar(&online, "online", false, "with --file, ask the servers of the models for their limits")
	command.ExcludeFlags(cmd, "vendor", "file")
	command.ExcludeFlags(cmd, "vendor", "online")
	return cmd
}

// listConfigured lists the models of a configuration with their limits and prices.
func listConfigured(cmd *cobra.Command, p *program, files []string, glob string, online bool) error {
	matches, err := pattern.Compile(cmp.Or(glob, "**"))
	if err != nil {
		return command.Usagef(cmd, "the pattern %q: %w", glob, err)
	}
	l, err := p.load(files, false, unheard())
	if err != nil {
		return err
	}
	defer l.close()
	if online {
		l.discoverLimits(cmd.Context(), p)
	}
	rev, list, err := l.check(cmd.Context())
	if err != nil {
		return err
	}
	facts := slices.DeleteFunc(resolve.ModelFacts(rev), func(f resolve.ModelFact) bool { return !matches.Match(f.Model) })
	err = (&command.Listing[resolve.ModelFact]{
		Record: struct {
			Facts []resolve.ModelFact `json:"facts"`
		}{append([]resolve.ModelFact{}, facts...)},
		Items: facts, Header: []string{"MODEL", "FIELD", "VALUE", "SOURCE"},
		Row: func(f resolve.ModelFact) []string {
			return []string{f.Model, f.Field, l.file.Redact(f.Value), f.Source}
		},
	}).Show(command.NewOutput(&p.Streams, cmd, l.file.Redact))
	if err == nil && list.HasErrors() {
		return l.refuse(list, p.Err, command.Failed)
	}
	return err
}

// findModels returns the models of a vendor, or of all vendors, whose names match a glob; an empty
// glob matches all.
func findModels(vendor, glob string) (*modelList, error) {
	matches, err := pattern.Compile(cmp.Or(glob, "**"))
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

// noModels explains an empty list.
func noModels(vendor, glob string) string {
	var vendors, names []string
	for _, m := range catalog.All() {
		if vendor == "" || m.Vendor == vendor {
			names = append(names, m.Name)
		}
		if !slices.Contains(vendors, m.Vendor) {
			vendors = append(vendors, m.Vendor)
		}
	}
	slices.Sort(vendors)
	if vendor != "" && !slices.Contains(vendors, vendor) {
		return fmt.Sprintf("The catalog has no models of %s; it has those of %s. For models of other servers, use --file FILE --online, or see what the server lists.", vendor, strings.Join(vendors, ", "))
	}
	if near, ok := nearest.Of(glob, names); ok {
		return fmt.Sprintf("No model of the catalog matches; did you mean %q?", near)
	}
	return "No model of the catalog matches."
}

// show writes the models. vendor is the value of --vendor, and glob the pattern; empty without it.
func (l *modelList) show(out *command.Output, vendor, glob string) error {
	return (&command.Listing[*catalog.Model]{
		Record: l, Items: l.Models, None: noModels(vendor, glob),
		Header: []string{"VENDOR", "MODEL", "CONTEXT", "OUTPUT", "READS", "INPUT", "OUTPUT", "CACHED", "CUTOFF", "RETIRES"},
		Row: func(m *catalog.Model) []string {
			input, output, cached := listedPrices(m.Pricing)
			return []string{
				m.Vendor, m.Name, countOrDash(m.ContextWindow), countOrDash(m.MaxOutput), spec.JoinModalities(m.Modalities.Input, ","),
				input, output, cached, cmp.Or(m.KnowledgeCutoff, "-"), cmp.Or(m.Retires, "-"),
			}
		},
	}).Show(out)
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
