package vendorhttp

import (
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// decoratedName matches names that models write after their templates: default_api.look by Gemini,
// functions.look:0 by Kimi, and look<|channel|>json by GPT-OSS.
var decoratedName = regexp.MustCompile(`^(?:(?:functions?|default_api|tools?)[.:])?([\w.:/-]+?)(?::\d+)?(?:<\|.*)?$`)

// calledTool returns the tool that a model calls by a name. A name that is not a tool's is read without
// the marks of templates, and then in any case if that leaves one tool. Other names stay.
func calledTool(name string, tools []model.Tool) string {
	name = strings.TrimSpace(name)
	for i := range tools {
		if tools[i].Name == name {
			return name
		}
	}
	bare := name
	if found := decoratedName.FindStringSubmatch(name); found != nil {
		bare = found[1]
	}
	folded, count := name, 0
	for i := range tools {
		switch tool := tools[i].Name; {
		case tool == bare:
			return tool
		case strings.EqualFold(tool, bare):
			folded = tool
			count++
		}
	}
	if count == 1 {
		return folded
	}
	return name
}
