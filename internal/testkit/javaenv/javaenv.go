// Package javaenv lets tests run Java programs with the packages of a Maven project.
package javaenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// installTimeout limits the time for Maven.
const installTimeout = 5 * time.Minute

// Command returns the command that runs a single-file program with the dependencies of a Maven
// project. They are fetched once per project and kept in the user's cache. Without Java, Maven or a
// network, the test is skipped, or fails in CI. Short tests are skipped.
func Command(t testing.TB, project []byte, program string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("Maven takes a while")
	}
	java, libraries, err := prepareLibraries(t.Context(), project)
	if err != nil {
		needs.Missing(t, err)
	}
	return []string{java, "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(libraries, "*"), program}
}

// prepareLibraries returns the java program and the directory of the libraries, fetching them if
// missing. It is safe for concurrent processes.
func prepareLibraries(ctx context.Context, project []byte) (java, libraries string, err error) {
	if _, err := exec.LookPath("javac"); err != nil {
		return "", "", errors.New("no JDK: javac is not in PATH")
	}
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", errors.New("no JDK: java is not in PATH")
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return "", "", errors.New("no Maven: mvn is not in PATH")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "agentruntime-tests")
	sum := sha256.Sum256(project)
	libraries = filepath.Join(cache, "java-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(libraries); err == nil {
		return java, libraries, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", "", fmt.Errorf("make a directory for libraries: %w", err)
	}
	fresh, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return "", "", fmt.Errorf("make a directory for libraries: %w", err)
	}
	defer os.RemoveAll(fresh)
	if err := os.WriteFile(filepath.Join(fresh, "pom.xml"), project, 0o600); err != nil {
		return "", "", fmt.Errorf("write the project: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, maven, "--quiet", "--batch-mode", "dependency:copy-dependencies", "-DoutputDirectory=lib")
	cmd.Dir = fresh
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("mvn does not fetch the libraries: %w\n%s", err, said)
	}
	if err := os.Rename(filepath.Join(fresh, "lib"), libraries); err != nil {
		if _, missing := os.Stat(libraries); missing != nil {
			return "", "", fmt.Errorf("keep the libraries: %w", err)
		}
	}
	return java, libraries, nil
}
