package describe

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// Reference returns the reference page of configuration files as Markdown.
func Reference(components *Components) string {
	w := &referenceWriter{components: components, seen: map[reflect.Type]bool{}}
	w.writeLine("# Configuration reference")
	w.writeLine("")
	w.writeLine("| Key | Contents |")
	w.writeLine("|---|---|")
	w.writeLine("| `version` | The version of the file format: %d. Required. |", keys.Version)
	for _, r := range keys.Registries {
		w.writeLine("| [`%s`](#%s) | %s |", r.Name, r.Name, r.Doc)
	}
	w.writeLine("| [`remote_agents`](#remote_agents) | A list of peers whose agents are discovered and appear as `<name>/<agent>`. |")
	w.writeLine("| [`defaults`](#defaults) | Defaults of all agents; an agent's own fields override them. |")
	w.writeLine("| [`patches`](#patches) | %s |", keys.PatchesDoc)
	for _, s := range keys.Settings {
		w.writeLine("| [`%s`](#%s) | %s |", s.Name, s.Name, s.Doc)
	}
	for _, r := range keys.Registries {
		w.writeHeading(2, r.Name)
		w.writeLine("%s", r.Doc)
		if r.Type == nil {
			w.writeKinds(r.EntryName(), components.Kinds[r.Name])
		} else {
			w.writeTable(record.Of(r.Type))
		}
		if r.Name == keys.Workflows {
			w.writeLine("\nA workflow with `match`, or below `workflows.eventTriggers`, is an event trigger [in the spelling of Gestalt](../protocols/gestalt.md):")
			w.writeTable(record.Of(reflect.TypeFor[workflow.GestaltTrigger]()))
			w.writeLine("\nA workflow with `cron`, or below `workflows.schedules`, is a schedule in that spelling:")
			w.writeTable(record.Of(reflect.TypeFor[workflow.GestaltSchedule]()))
		}
	}
	w.writeHeading(2, "remote_agents")
	w.writeTable(record.Of(reflect.TypeFor[spec.RemoteSource]()))
	w.writeHeading(2, "defaults")
	w.writeLine("Every field of an agent but `endpoint`.")
	w.writeHeading(2, keys.Patches)
	w.writeLine("%s Below the name of a registry stand ids and, below each id, fields of its entry.", keys.PatchesDoc)
	w.writeLine("\n| Field | Type | Default | Meaning |")
	w.writeLine("|---|---|---|---|")
	for _, name := range keys.Patchable {
		w.writeLine("| `%s` | mapping of patches | – | Patches of [%s](#%s), by id; `null` removes the entry. |", name, name, name)
	}
	w.writeLine("| `%s` | `true` or `false` | `false` | %s Also a field of a single patch. |", keys.AllowWidening, keys.AllowWideningDoc)
	for _, s := range keys.Settings {
		w.writeHeading(2, s.Name)
		w.writeLine("%s", s.Doc)
		w.writeTable(components.RecordOf(s.Type))
	}
	w.listSections()
	w.writeRecords()
	return w.out.String()
}

type referenceWriter struct {
	components *Components
	out        strings.Builder
	todo       []reflect.Type
	seen       map[reflect.Type]bool
}

func (w *referenceWriter) writeLine(format string, args ...any) {
	fmt.Fprintf(&w.out, format+"\n", args...)
}

func (w *referenceWriter) writeHeading(level int, text string) {
	w.writeLine("\n%s %s\n", strings.Repeat("#", level), text)
}

// writeKinds writes a table for each kind of component.
func (w *referenceWriter) writeKinds(name string, kinds []record.Kind) {
	for _, k := range kinds {
		w.writeHeading(3, name+" `type: "+k.Type+"`")
		w.writeLine("%s", k.Summary)
		if r := k.Record(); r != nil {
			w.writeTable(r)
		}
	}
}

// writeTable writes the fields of a record.
func (w *referenceWriter) writeTable(r *record.Type) {
	if len(r.Fields) == 0 {
		return
	}
	w.writeLine("\n| Field | Type | Default | Meaning |")
	w.writeLine("|---|---|---|---|")
	for _, f := range r.Fields {
		name := "`" + f.Name + "`"
		for _, s := range f.Spellings {
			name += ", `" + s.Name + "`"
		}
		byDefault := "–"
		switch {
		case f.Required:
			byDefault = "**required**"
		case f.When != nil && f.When.Negated:
			byDefault = "**required** unless `" + f.When.Field + "` is `" + f.When.Value + "`"
		case f.When != nil:
			byDefault = "– (**required** if `" + f.When.Field + "` is `" + f.When.Value + "`)"
		case f.Default != "":
			byDefault = "`" + f.Default + "`"
		}
		w.writeLine("| %s | %s | %s | %s |", name, escapeCell(w.describeType(f, f.Type)), escapeCell(byDefault), escapeCell(w.describeMeaning(f)))
	}
}

func escapeCell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// describeMeaning returns a field's description, extended with what its tags say.
func (w *referenceWriter) describeMeaning(f *record.Field) string {
	text := f.Doc
	if len(f.Of) > 0 {
		text += " Only with type " + record.Alternatives(quoteCode(f.Of)) + "."
	}
	if f.Path {
		text += " Relative to the directory of the file."
	}
	if f.Secret {
		text += " A secret: never shown."
	}
	for _, s := range f.Spellings {
		text += " `" + s.Name + "` is a number of " + s.UnitName() + "."
	}
	return text
}

// describeType names the type of a value.
func (w *referenceWriter) describeType(f *record.Field, t reflect.Type) string {
	switch record.ShapeOf(t) {
	case record.TextShape:
		switch {
		case len(f.Enum) > 0:
			return record.Alternatives(quoteCode(f.Enum))
		case f.Pattern != nil:
			return "text matching `" + f.Pattern.String() + "`"
		}
		return "text"
	case record.BoolShape:
		return "`true` or `false`"
	case record.IntShape, record.UintShape:
		return "whole number" + rangeOf(f)
	case record.FloatShape:
		return "number" + rangeOf(f)
	case record.DurationShape:
		return "time span"
	case record.PromptShape:
		return "text, or `{file: path}`"
	case record.NamesShape:
		return "list of text"
	case record.EffortShape:
		return record.Alternatives(quoteCode(spec.EffortLevels())) + ", a number from 0 to 100, or `{budget: tokens}`"
	case record.TextualShape:
		return "text"
	case record.PointerShape:
		return w.describeType(f, t.Elem())
	case record.ListShape:
		return "list of " + w.describeType(f.Element(), t.Elem())
	case record.MapShape:
		return "mapping of " + w.describeType(f.Element(), t.Elem())
	case record.RecordShape:
		if record.NameOf(t) == "" {
			return "`{}`"
		}
		if !w.seen[t] {
			w.seen[t] = true
			w.todo = append(w.todo, t)
		}
		return "[" + record.NameOf(t) + "](#" + record.NameOf(t) + ")"
	default:
		return "any"
	}
}

func quoteCode(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = "`" + name + "`"
	}
	return list
}

func rangeOf(f *record.Field) string {
	switch {
	case f.Min != nil && f.Max != nil:
		return " from " + record.FormatNumber(*f.Min) + " to " + record.FormatNumber(*f.Max)
	case f.Min != nil:
		return ", " + record.FormatNumber(*f.Min) + " or more"
	case f.Max != nil:
		return ", " + record.FormatNumber(*f.Max) + " or less"
	default:
		return ""
	}
}

// listSections writes the sections that the runtime reads itself.
func (w *referenceWriter) listSections() {
	if len(w.components.Sections) == 0 {
		return
	}
	w.writeHeading(2, "sections")
	w.writeLine("| Key | Effect |")
	w.writeLine("|---|---|")
	for _, s := range w.components.Sections {
		w.writeLine("| `%s` | %s |", s.Key, escapeCell(s.Summary))
	}
}

// writeRecords writes the tables of the records that others refer to.
func (w *referenceWriter) writeRecords() {
	for len(w.todo) > 0 {
		t := w.todo[0]
		w.todo = w.todo[1:]
		w.writeHeading(2, record.NameOf(t))
		w.writeTable(w.components.RecordOf(t))
	}
}
