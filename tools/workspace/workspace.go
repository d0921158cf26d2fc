package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Kind returns the tool kind workspace.
func Kind() tools.Kind {
	return spec.NewKind("workspace", "The files below a directory: tools to read, search and change them, and to run programs there.", newWorkspace)
}

// workspace is an entry of a configuration: the tools that work in one root.
type workspace struct {
	id      string
	config  Config
	members []tools.Member
}

var _ tools.Bundle = (*workspace)(nil)

// newWorkspace returns the configured tools. It does not look for the root, because a dry run may
// happen where it does not exist.
func newWorkspace(s tools.Settings, c *Config) (tools.Tool, error) {
	if err := c.Validate().Err(); err != nil {
		return nil, err
	}
	w := &workspace{id: s.ID, config: c.clone()}
	limit := c.callTimeout()
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

func (w *workspace) addMember(name string, tool tools.Tool) {
	w.members = append(w.members, tools.Member{ID: w.Prefix() + name, Tool: &member{tool, w}})
}

// Descriptor returns an empty descriptor: agents get the members.
func (w *workspace) Descriptor() tools.Descriptor { return tools.Descriptor{} }

// Call fails: agents get the members.
func (w *workspace) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{}, fmt.Errorf("%s is a workspace, not a tool", w.id)
}

// Prefix returns the prefix of the tools' ids.
func (w *workspace) Prefix() string { return w.config.toolPrefix(w.id) }

// Members returns the tools. It reports an id that models do not accept.
func (w *workspace) Members() ([]tools.Member, diag.List) {
	var list diag.List
	for i := range w.members {
		list = append(list, tools.CheckID(w.members[i].ID)...)
	}
	if list.HasErrors() {
		return nil, list
	}
	return w.members, nil
}

// plainCause returns the cause of a file error without the path, which is local to the machine.
func plainCause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// pathError reports an unusable path of a call.
type pathError struct {
	Path, Problem string
}

// Error names the path.
func (e *pathError) Error() string { return fmt.Sprintf("path %q %s", e.Path, e.Problem) }

// localPath returns the path of a call relative to the root. An empty path is the directory where
// paths begin.
func localPath(base, name string) (string, error) {
	switch {
	case strings.ContainsRune(name, 0):
		return "", &pathError{name, "has a NUL character"}
	case path.IsAbs(name) || filepath.IsAbs(name):
		return "", &pathError{name, "is absolute: paths begin at the root of the workspace"}
	}
	clean := path.Join(base, name)
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", &pathError{name, "leads out of the workspace"}
	}
	return clean, nil
}

// fileError returns the error of using a workspace file, for the model.
func fileError(name string, err error) error {
	var at *pathError
	if errors.As(err, &at) {
		return err
	}
	return fmt.Errorf("%s: %w", name, plainCause(err))
}
