package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/settings"
	"github.com/agentruntime/agentruntime/spec"
)

// Reference returns the reference page of configuration files, as Markdown: a
// table for each record, made from the descriptions that decode it.
func Reference(kinds Kinds) string {
	w := &referenceWriter{seen: map[reflect.Type]bool{}}
	w.line("# Configuration reference")
	w.line("")
	w.line("| Key | What it holds |")
	w.line("|---|---|")
	w.line("| `version` | The version of the file format: %d. Required. |", Version)
	for _, r := range registries {
		w.line("| [`%s`](#%s) | %s |", r.name, r.name, r.doc)
	}
	w.line("| [`remote_agents`](#remote_agents) | A list of peers whose agents are discovered and appear as `<name>/<agent>`. |")
	w.line("| [`defaults`](#defaults) | What agents inherit; what an agent says itself wins. |")
	for _, s := range processSettings {
		w.line("| [`%s`](#%s) | %s |", s.name, s.name, s.doc)
	}
	for _, r := range registries {
		w.heading(2, r.name)
		w.line("%s", r.doc)
		switch r.name {
		case "providers":
			w.kinds("provider", kindsOf(kinds.Providers))
		case "tools":
			w.kinds("tool", kindsOf(kinds.Tools))
		case "plugins":
			w.kinds("plugin", kindsOf(kinds.Plugins))
		case "models":
			w.table(recordOf(reflect.TypeFor[spec.Model]()))
		case "model_pools":
			w.table(recordOf(reflect.TypeFor[spec.Pool]()))
		case "agents":
			w.table(recordOf(reflect.TypeFor[spec.Agent]()))
		case "schedules":
			w.table(recordOf(reflect.TypeFor[settings.Schedule]()))
		}
	}
	w.heading(2, "remote_agents")
	w.table(recordOf(reflect.TypeFor[spec.RemoteSource]()))
	w.heading(2, "defaults")
	w.line("Every field of an agent but `endpoint`.")
	for _, s := range processSettings {
		w.heading(2, s.name)
		w.line("%s", s.doc)
		w.table(recordOf(s.typ))
	}
	w.listSections(kinds)
	w.records()
	return w.out.String()
}

type referenceWriter struct {
	out  strings.Builder
	todo []reflect.Type
	seen map[reflect.Type]bool
}

func (w *referenceWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.out, format+"\n", args...)
}

func (w *referenceWriter) heading(level int, text string) {
	w.line("\n%s %s\n", strings.Repeat("#", level), text)
}

// kinds writes a table for each kind of component.
func (w *referenceWriter) kinds(noun string, kinds []kind) {
	for _, k := range kinds {
		w.heading(3, noun+" `type: "+k.typ+"`")
		w.line("%s", k.summary)
		if r := kindRecord(k); r != nil {
			w.table(r)
		}
	}
}

// table writes the fields of a record.
func (w *referenceWriter) table(r *record) {
	if len(r.fields) == 0 {
		return
	}
	w.line("\n| Field | Type | Default | Meaning |")
	w.line("|---|---|---|---|")
	for _, f := range r.fields {
		name := "`" + f.name + "`"
		for _, s := range f.other {
			name += ", `" + s.name + "`"
		}
		byDefault := "–"
		switch {
		case f.required:
			byDefault = "**required**"
		case f.byDefault != "":
			byDefault = "`" + f.byDefault + "`"
		}
		w.line("| %s | %s | %s | %s |", name, cell(w.describe(f, f.typ)), cell(byDefault), cell(w.meaning(f)))
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// meaning is the description of a field with what its tags add.
func (w *referenceWriter) meaning(f *field) string {
	text := f.doc
	if len(f.of) > 0 {
		text += " Only with type " + either(code(f.of)) + "."
	}
	if f.path {
		text += " Relative to the directory of the file."
	}
	if f.secret {
		text += " A secret: never shown."
	}
	for _, s := range f.other {
		text += " `" + s.name + "` is a number of " + s.unitName() + "."
	}
	return text
}

// describe names the type of a value.
func (w *referenceWriter) describe(f *field, t reflect.Type) string {
	switch shapeOf(t) {
	case textShape:
		switch {
		case len(f.enum) > 0:
			return either(code(f.enum))
		case f.pattern != nil:
			return "text matching `" + f.pattern.String() + "`"
		}
		return "text"
	case boolShape:
		return "`true` or `false`"
	case intShape, uintShape:
		return "whole number" + rangeOf(f)
	case floatShape:
		return "number" + rangeOf(f)
	case durationShape:
		return "time span"
	case promptShape:
		return "text, or `{file: path}`"
	case namesShape:
		return "list of text"
	case effortShape:
		return either(code(spec.EffortLevels())) + ", a number from 0 to 100, or `{budget: tokens}`"
	case textualShape:
		return "text"
	case pointerShape:
		return w.describe(f, t.Elem())
	case listShape:
		return "list of " + w.describe(f.element(), t.Elem())
	case mapShape:
		return "mapping of " + w.describe(f.element(), t.Elem())
	case recordShape:
		if !w.seen[t] {
			w.seen[t] = true
			w.todo = append(w.todo, t)
		}
		return "[" + recordName(t) + "](#" + recordName(t) + ")"
	default:
		return "any"
	}
}

func code(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = "`" + name + "`"
	}
	return list
}

func rangeOf(f *field) string {
	switch {
	case f.min != nil && f.max != nil:
		return " from " + format(*f.min) + " to " + format(*f.max)
	case f.min != nil:
		return ", " + format(*f.min) + " or more"
	case f.max != nil:
		return ", " + format(*f.max) + " or less"
	default:
		return ""
	}
}

// listSections writes what the runtime itself reads below sections.
func (w *referenceWriter) listSections(kinds Kinds) {
	if len(kinds.Sections) == 0 {
		return
	}
	w.heading(2, "sections")
	w.line("| Key | What it says |")
	w.line("|---|---|")
	for _, s := range kinds.Sections {
		w.line("| `%s` | %s |", s.Key, cell(s.Summary))
	}
}

// records writes the tables of the records that others refer to.
func (w *referenceWriter) records() {
	for len(w.todo) > 0 {
		t := w.todo[0]
		w.todo = w.todo[1:]
		w.heading(2, recordName(t))
		w.table(recordOf(t))
	}
}
