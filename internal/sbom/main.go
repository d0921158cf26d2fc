// Command sbom writes the bill of materials of a Go binary to a file, in CycloneDX JSON: the
// modules linked into it, with their versions and checksums. The release makes one for each binary.
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY FILE")
		os.Exit(2)
	}
	var text bytes.Buffer
	err := writeBOM(&text, os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], text.Bytes(), 0o644) //nolint:gosec // it is published
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// writeBOM writes the bill of materials of a binary.
func writeBOM(w io.Writer, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	encoder := cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON)
	return encoder.SetPretty(true).SetEscapeHTML(false).Encode(newBOM(filepath.Base(binary), info))
}

// newBOM lists the components of a binary.
func newBOM(name string, info *debug.BuildInfo) *cyclonedx.BOM {
	program := newComponent(&info.Main)
	program.Type, program.Name = cyclonedx.ComponentTypeApplication, name
	toolchain := cyclonedx.Component{
		BOMRef: "pkg:golang/std@" + info.GoVersion, Type: cyclonedx.ComponentTypeLibrary,
		Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}
	components := []cyclonedx.Component{toolchain}
	needed := []string{toolchain.BOMRef}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		component := newComponent(module)
		components = append(components, component)
		needed = append(needed, component.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &program, Properties: listSettings(info)}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &needed}}
	return bom
}

// newComponent describes a module.
func newComponent(module *debug.Module) cyclonedx.Component {
	url := "pkg:golang/" + module.Path + "@" + module.Version
	component := cyclonedx.Component{
		BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: url,
	}
	// A sum is "h1:" and the SHA-256 of the module's files in base64.
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil && len(sum) > 0 {
		component.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	return component
}

// listSettings returns the build settings of a binary: the target system and the commit.
func listSettings(info *debug.BuildInfo) *[]cyclonedx.Property {
	properties := []cyclonedx.Property{}
	for _, s := range info.Settings {
		if s.Value != "" {
			properties = append(properties, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
		}
	}
	return &properties
}
