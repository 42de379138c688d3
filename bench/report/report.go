// Package report writes RESULTS.md from what was measured.
package report

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Write writes it into the folder of the benchmarks, from the files in its folder out. Notes come from NOTES.md.
func Write(home string) error {
	files := results(filepath.Join(home, "out"))
	if len(files) == 0 {
		return fmt.Errorf("nothing was measured: there are no results in %s", filepath.Join(home, "out"))
	}
	s, err := read(files...)
	if err != nil {
		return err
	}
	notes, err := os.ReadFile(filepath.Join(home, "NOTES.md"))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	intro(&b, home, files)
	goalTable(&b, s)
	b.WriteString("\n")
	b.Write(bytes.TrimSpace(notes))
	b.WriteString("\n")
	decisions(&b, s)
	pipelines(&b, s)
	loopbacks(&b, s)
	flights(&b, s)
	transfers(&b, s)
	growth(&b, s)
	return os.WriteFile(filepath.Join(home, "RESULTS.md"), b.Bytes(), 0o644)
}

func intro(b *bytes.Buffer, home string, files []string) {
	fmt.Fprint(b, "# Results\n\nWritten by `go -C bench run ./run`; edits are lost. How to read it is in [README.md](README.md).\n\n")
	fmt.Fprintf(b, "Measured on %s: %s, %d processors, %s, %s.\n\n", measured(files), processor(), runtime.NumCPU(), kernel(), runtime.Version())
	fmt.Fprintf(b, "Beside: %s.\n\n", strings.Join(versions(home), ", "))
	effort, _ := os.ReadFile(filepath.Join(home, "out", "effort.txt"))
	fmt.Fprintf(b, "Effort: %s.\n\n", bytes.TrimSpace(effort))
	fmt.Fprint(b, "Figures are medians. A ratio or a difference is that of two measurements of one round, and its median over the rounds.\n"+
		"`bare-again` is `bare` once more: what they differ by is the noise.\n")
}

// measured is the day of the newest result.
func measured(files []string) string {
	var newest time.Time
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest.UTC().Format(time.DateOnly)
}

// processor is what Linux calls it.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, "\t :\n")
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	said, err := exec.Command("uname", "-sr").Output()
	if err != nil {
		return runtime.GOOS
	}
	return strings.TrimSpace(string(said))
}

// versions are those of the modules that are measured beside the library: what the benchmarks import.
func versions(home string) []string {
	cmd := exec.Command("go", "list", "-m", "-f", "{{if not (or .Indirect .Main .Replace)}}{{.Path}} {{.Version}}{{end}}", "all")
	cmd.Dir = home
	said, _ := cmd.Output()
	var peers []string
	for line := range strings.Lines(string(said)) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "clockwork") { // which is ours
			peers = append(peers, line)
		}
	}
	return peers
}
