package decode

import (
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

func (d *Decoder) decodePrompt(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	if n.Kind != yamltree.Mapping {
		if n.Kind == yamltree.Sequence {
			d.reportMismatch(f, n, p, "a text or {file: path}")
			return
		}
		if p != nil && p.Key == "system_prompt" {
			d.Expander.Scopes = promptScopes
		}
		d.decodeText(f, n, v, p)
		d.Expander.Scopes = nil
		return
	}
	var from record.PromptFile
	before := len(d.Found)
	d.DecodeFields(record.Of(reflect.TypeFor[record.PromptFile]()), n, reflect.ValueOf(&from).Elem(), p, "")
	if from.File == "" || len(d.Found) > before {
		return
	}
	key, value := n.FindField("file")
	text, err := d.Expander.IncludeFile(from.File, "")
	if err != nil {
		d.AddDiagnostic(diag.InvalidValue, p.Field("file", key), value, "%v", err)
		return
	}
	prompt := promptText(text, p.Key == "system_prompt")
	d.Tree.Noted.Of(value).Prompt = &prompt
	v.SetString(text)
}

func (d *Decoder) decodeEffort(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	switch n.Kind {
	case yamltree.String:
		level := record.Field{Enum: spec.EffortLevels()}
		d.Expander.Scopes = tenantScopes
		text, known, ok := d.readText(f, n, p)
		d.Expander.Scopes = nil
		if !ok || !known {
			return
		}
		if parts := spec.Template(text).Parts(); len(parts) == 1 && parts[0].Name != "" {
			v.Set(reflect.ValueOf(spec.Effort{Variable: parts[0].Name}))
		} else if d.checkText(&level, n, text, p) {
			v.Set(reflect.ValueOf(spec.Effort{Level: text}))
		}
	case yamltree.Mapping:
		var budget record.EffortBudget
		d.DecodeFields(record.Of(reflect.TypeFor[record.EffortBudget]()), n, reflect.ValueOf(&budget).Elem(), p, "")
		v.Set(reflect.ValueOf(spec.Effort{Budget: budget.Budget}))
	case yamltree.Int, yamltree.Float:
		number, err := ParseNumber(n.Text)
		if err != nil {
			d.AddDiagnostic(diag.InvalidValue, p, n, "%s: %v", p.Label(), err)
			return
		}
		percent, ok := number.asInt()
		if !ok || percent < 0 || percent > 100 {
			d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s; as a number it must be a whole one from 0 to 100", p.Label(), clip.Text(n.Text))
			return
		}
		v.Set(reflect.ValueOf(spec.EffortPercent(int(percent))))
	default:
		d.reportMismatch(f, n, p, "one of "+strings.Join(spec.EffortLevels(), ", ")+", a number from 0 to 100, or {budget: tokens}")
	}
}

// promptText returns a prompt file's content as a configuration text.
func promptText(content string, isTemplate bool) string {
	if !isTemplate {
		return expand.Escape(content)
	}
	var text strings.Builder
	for _, part := range spec.Template(content).Parts() {
		if part.Name == "" {
			text.WriteString(expand.Escape(part.Text))
		} else {
			text.WriteString(part.String())
		}
	}
	return text.String()
}
