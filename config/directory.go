package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Expand returns the files for paths. A directory stands for the files directly in it that end in
// .yaml or .yml and do not begin with a dot, sorted by name. If a file is named several times, the
// last one counts.
func Expand(paths []string) ([]string, error) {
	var files []string
	var errs []error
	for _, path := range paths {
		found := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if found, err = filesIn(path); err != nil {
				errs = append(errs, fmt.Errorf("read configuration: %w", err))
			}
		}
		for _, file := range found {
			files = slices.DeleteFunc(files, func(f string) bool { return filepath.Clean(f) == filepath.Clean(file) })
			files = append(files, file)
		}
	}
	return files, errors.Join(errs...)
}

// filesIn returns the files of a configuration in a directory. Links are followed.
func filesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if strings.HasPrefix(e.Name(), ".") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue
		}
		files = append(files, path)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the directory %s has no file whose name ends in .yaml or .yml", dir)
	}
	return files, nil
}
