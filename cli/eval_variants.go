package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/spec"
)

// variant is a configuration that eval runs the cases with.
type variant struct {
	name string
	edit func(*config.File) error
	// editAgents makes the changes of edit to agents, also for overlays.
	editAgents func(*config.File) error
}

// maxVariants bounds the combinations of a matrix.
const maxVariants = 64

// variants returns the combinations of the matrix, or one unnamed variant without a matrix.
func (o *evalOptions) variants(suite *evals.Suite) ([]variant, error) {
	agents := make(map[string]bool)
	for _, c := range suite.Cases {
		agents[c.Agent] = true
	}
	list := []variant{{edit: o.replaceModels, editAgents: func(*config.File) error { return nil }}}
	seen := map[string]bool{}
	for _, text := range o.matrix {
		dimension, values, ok := strings.Cut(text, "=")
		if !ok || dimension != "model" && dimension != "prompt" {
			return nil, fmt.Errorf("--matrix %s: it must be model=ID,ID or prompt=FILE,FILE", text)
		}
		if seen[dimension] {
			return nil, fmt.Errorf("--matrix %s: %s is given twice: write its values in one flag", text, dimension)
		}
		seen[dimension] = true
		for one := range strings.SplitSeq(values, ",") {
			key := dimension + "=" + one
			if one == "" || seen[key] {
				return nil, fmt.Errorf("--matrix %s: %q is empty or given twice", text, one)
			}
			seen[key] = true
			if dimension == "model" && slices.ContainsFunc(o.models, func(text string) bool { return strings.HasPrefix(text, one+"=") }) {
				return nil, fmt.Errorf("--matrix %s: --model replaces %s, so its results would be those of another model", text, one)
			}
		}
		var next []variant
		for _, before := range list {
			for value := range strings.SplitSeq(values, ",") {
				change, err := changeAgents(agents, dimension, value)
				if err != nil {
					return nil, err
				}
				checked := change
				if dimension == "model" {
					checked = inOrder(checkModel(value), change)
				}
				next = append(next, variant{
					name:       strings.TrimSpace(before.name + " " + dimension + "=" + value),
					edit:       inOrder(before.edit, checked),
					editAgents: inOrder(before.editAgents, change),
				})
			}
		}
		if list = next; len(list) > maxVariants {
			return nil, fmt.Errorf("the matrix has more than %d combinations", maxVariants)
		}
	}
	return list, nil
}

// inOrder returns an edit that makes two edits in order.
func inOrder(first, second func(*config.File) error) func(*config.File) error {
	return func(f *config.File) error {
		if err := first(f); err != nil {
			return err
		}
		return second(f)
	}
}

// checkModel returns an edit that fails if a configuration has no model or pool with an ID.
func checkModel(id string) func(*config.File) error {
	return func(f *config.File) error {
		var ids []string
		for i := range f.Models {
			ids = append(ids, f.Models[i].ID)
		}
		for i := range f.Pools {
			ids = append(ids, f.Pools[i].ID)
		}
		if !slices.Contains(ids, id) {
			return fmt.Errorf("--matrix model=%s: the configuration has no model %q; its models are %s", id, id, strings.Join(ids, ", "))
		}
		return nil
	}
}

// changeAgents returns the change that gives agents a model or a prompt.
func changeAgents(agents map[string]bool, dimension, value string) (func(*config.File) error, error) {
	set := func(a *spec.Agent) { a.ModelID = value }
	if dimension == "prompt" {
		text, err := os.ReadFile(value)
		if err != nil {
			return nil, fmt.Errorf("--matrix prompt=%s: %w", value, err)
		}
		if !utf8.Valid(text) {
			return nil, fmt.Errorf("--matrix prompt=%s: the file is not UTF-8 text", value)
		}
		set = func(a *spec.Agent) { a.SystemPrompt = spec.Prompt(text) }
	}
	return func(f *config.File) error {
		for _, a := range f.Agents {
			if agents[a.ID] {
				set(a)
			}
		}
		return nil
	}, nil
}

// replaceModels applies --model: each ID gets the settings of the other model.
func (o *evalOptions) replaceModels(f *config.File) error {
	models := slices.Clone(f.Models)
	seen := map[string]bool{}
	for _, text := range o.models {
		id, other, ok := strings.Cut(text, "=")
		if seen[id] {
			return fmt.Errorf("--model %s: %s is replaced twice", text, id)
		}
		seen[id] = true
		at := slices.IndexFunc(f.Models, func(m spec.Model) bool { return m.ID == id })
		by := slices.IndexFunc(models, func(m spec.Model) bool { return m.ID == other })
		if !ok || at < 0 || by < 0 {
			return fmt.Errorf("--model %s: it must be ID=OTHER, both models of the configuration", text)
		}
		f.Models[at] = models[by]
		f.Models[at].ID = id
	}
	return nil
}
