package workspace

import (
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Kind returns the tool kind workspace.
func Kind() tools.Kind {
	return spec.NewKind("workspace", "The files below a directory: tools to read, search and change them, and to run programs there.", newWorkspace)
}

// newWorkspace returns the configured tools. It does not look for the root, because a dry run may
// happen where it does not exist.
func newWorkspace(s tools.Settings, c *Config) (tools.Tool, error) {
	if err := c.Validate().Err(); err != nil {
		return nil, err
	}
	w := &workspace{id: s.ID, config: c.clone()}
	limit := tools.CallTimeout(c.Timeout)
	w.addMember("read_file", &tools.Func[readInput, string]{
		Description: "Reads a text file of the workspace.", Effect: tools.Read, Timeout: limit, Run: w.readFile,
	})
	w.addMember("list_files", &tools.Func[listInput, string]{
		Description: "Lists the files below a directory of the workspace. Directories end in '/', symbolic links in '@'.", Effect: tools.Read, Timeout: limit, Run: w.listFiles,
	})
	w.addMember("grep", &tools.Func[grepInput, string]{
		Description: "Finds the lines of files of the workspace that match a regular expression (RE2).", Effect: tools.Read, Timeout: limit, Run: w.searchFiles,
	})
	if !c.ReadOnly {
		w.addMember("write_file", &tools.Func[writeInput, string]{
			Description: "Writes a text file of the workspace and replaces an existing one. Missing directories are created.",
			Effect:      tools.Idempotent, Timeout: limit, Serial: true, Run: w.writeFile,
		})
		w.addMember("edit_file", &tools.Func[editInput, string]{
			Description: "Replaces a text in a file of the workspace by another one.", Effect: tools.Once, Timeout: limit, Serial: true, Run: w.editFile,
		})
	}
	if len(c.Programs) > 0 {
		w.addMember("run_command", w.newProgramTool())
	}
	return w, nil
}
