package vendorhttp

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// The forms in which vendors refer to tools of a request: function_declarations[3],
// tools[3].function, tools.3.custom, toolConfig.tools.3.
var (
	declarationPlace = regexp.MustCompile(`(?i)function_?declarations\[(\d+)\]`)
	toolPlace        = regexp.MustCompile(`\btools(?:\[(\d+)\]|\.(\d+)\b)`)
)

// maxNamedTools limits the tools that an error names.
const maxNamedTools = 5

// nameTools adds tool names to a refusal that refers to tools by position.
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
