package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/diag"
)

// loadCases reads the cases that the flags select, with the diagnostics of their files.
func (p *program) loadCases(names, cases []string, o *evalOptions) (*evals.Suite, diag.List, error) {
	if len(cases) == 0 {
		dir := names[0]
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read configuration: there is no file or directory %s", dir)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read configuration: %w", err)
		}
		if !info.IsDir() {
			dir = filepath.Dir(dir)
		}
		cases = []string{filepath.Join(dir, "evals")}
		if _, err := os.Stat(cases[0]); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("read cases: there is no directory %s: write cases there, or name their files after FILE", cases[0])
		}
	}
	files, err := expandCases(cases)
	if err != nil {
		return nil, nil, err
	}
	if err := o.checkOutputs(files); err != nil {
		return nil, nil, err
	}
	suite, found, err := evals.Load(files)
	if err != nil {
		return nil, nil, err
	}
	if err := o.selectCases(suite, files); err != nil {
		return nil, nil, errors.Join(p.showFindings(suite, found), err)
	}
	for _, c := range suite.Cases {
		if o.overlay != "" {
			c.Overlay, c.Tenant = o.overlay, cmp.Or(o.tenantName, c.Tenant)
		}
		for name, value := range o.tenant {
			if c.TenantVariables == nil {
				c.TenantVariables = make(map[string]string)
			}
			c.TenantVariables[name] = value
		}
	}
	return suite, found, nil
}

// selectCases keeps the cases that --agent and --tag select.
func (o *evalOptions) selectCases(suite *evals.Suite, files []string) error {
	if len(suite.Cases) == 0 {
		return fmt.Errorf("%s: there are no cases", strings.Join(files, ", "))
	}
	var agents, tags []string
	for _, c := range suite.Cases {
		agents, tags = append(agents, c.Agent), append(tags, c.Tags...)
	}
	for _, of := range []struct {
		flag         string
		asked, known []string
	}{{"agent", o.agents, agents}, {"tag", o.tags, tags}} {
		slices.Sort(of.known)
		for _, value := range of.asked {
			if !slices.Contains(of.known, value) {
				known := cmp.Or(strings.Join(slices.Compact(of.known), ", "), "none")
				return fmt.Errorf("--%s %s: no case has this %[1]s; the cases have: %[3]s", of.flag, value, known)
			}
		}
	}
	suite.Select(func(c *evals.Case) bool {
		tagged := len(o.tags) == 0 || slices.ContainsFunc(o.tags, func(tag string) bool { return slices.Contains(c.Tags, tag) })
		return tagged && (len(o.agents) == 0 || slices.Contains(o.agents, c.Agent))
	})
	if len(suite.Cases) == 0 {
		return errors.New("no case has both an agent of --agent and a tag of --tag")
	}
	return nil
}

// expandCases returns the case files among files and directories.
func expandCases(names []string) (files []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read cases: there is no file or directory %s", name)
		}
		if err != nil {
			return nil, fmt.Errorf("read cases: %w", err)
		}
		if !info.IsDir() {
			files = append(files, name)
			continue
		}
		found, err := yamlFiles(name)
		if err != nil {
			return nil, fmt.Errorf("read cases: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("read cases: %s has no YAML files", name)
		}
		files = append(files, found...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(name string) bool {
		path, err := filepath.Abs(name)
		if target, linkErr := filepath.EvalSymlinks(path); linkErr == nil {
			path = target
		}
		twice := err == nil && seen[path]
		seen[path] = true
		return twice
	}), nil
}

// isYAML reports whether a file is named like a YAML file.
func isYAML(name string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) }

// yamlFiles returns the YAML files in a directory.
func yamlFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && isYAML(path) {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// showFindings shows diagnostics about cases. Errors end the command.
func (p *program) showFindings(suite *evals.Suite, found diag.List) error {
	if len(found) == 0 {
		return nil
	}
	report := (&loaded{version: p.version(), command: p.Command()}).caseReport(found, suite, p)
	if err := renderReport(report, p.Err, "text"); err != nil {
		return err
	}
	if found.HasErrors() {
		return command.Exit(command.Usage)
	}
	return nil
}
