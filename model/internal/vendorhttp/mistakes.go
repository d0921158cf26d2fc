package vendorhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// Mistakes returns the text of the detail of an error: a text, or the list of mistakes that
// FastAPI finds in a request. It is empty for anything else.
func Mistakes(detail json.RawMessage) string {
	var text string
	if json.Unmarshal(detail, &text) == nil {
		return text
	}
	var list []struct {
		Place []any  `json:"loc"`
		Text  string `json:"msg"`
	}
	if json.Unmarshal(detail, &list) != nil {
		return ""
	}
	lines := make([]string, len(list))
	for i, m := range list {
		place := strings.ReplaceAll(strings.TrimSpace(fmt.Sprintln(m.Place...)), " ", ".")
		lines[i] = strings.TrimPrefix(place+": "+m.Text, ": ")
	}
	return strings.Join(lines, "; ")
}

// The places of tools in requests, as vendors write them: function_declarations[3],
// tools[3].function, tools.3.custom, toolConfig.tools.3.
var (
	declarationPlace = regexp.MustCompile(`(?i)function_?declarations\[(\d+)\]`)
	toolPlace        = regexp.MustCompile(`\btools(?:\[(\d+)\]|\.(\d+)\b)`)
)

// maxNamedTools is how many tools an error names.
const maxNamedTools = 5

// nameTools adds the names of the tools to a refusal that speaks of their places.
func (n *wireNames) nameTools(failure *model.Error, tools []model.Tool) {
	text := failure.Message
	if named, ok := errors.AsType[FieldError](failure.Err); ok {
		text += " " + named.RejectedField()
	}
	places := declarationPlace.FindAllStringSubmatch(text, -1)
	if places == nil { // Gemini has its declarations in tools[0]
		places = toolPlace.FindAllStringSubmatch(text, -1)
	}
	var names []string
	for _, place := range places {
		i, err := strconv.Atoi(strings.Join(place[1:], ""))
		if err != nil || i >= len(tools) {
			continue
		}
		name := tools[i].Name
		if n != nil && n.ids[name] != "" {
			name = n.ids[name]
		}
		if name = strconv.Quote(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	more := ""
	if len(names) > maxNamedTools {
		more = fmt.Sprintf(" and %d more", len(names)-maxNamedTools)
		names = names[:maxNamedTools]
	}
	what := "tool"
	if len(names) > 1 {
		what = "tools"
	}
	failure.Message += fmt.Sprintf(" (%s %s%s)", what, strings.Join(names, ", "), more)
}
